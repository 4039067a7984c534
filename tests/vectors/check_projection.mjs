// The token projection of docs/projection.md in JavaScript, against the conformance vectors.
// node tests/vectors/check_projection.mjs

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const read = (name) =>
  Object.values(JSON.parse(readFileSync(new URL(`projection-${name}.json`, import.meta.url))))[0];
const [classes, tables, maps] = read("tables");

// Section 1: text to words. A text is an array of code points.

const PRIORITY = ["SPACES", "CONTROLS", "FORMATS", "MARKS", "SYMBOLS", "DIGITS", "UNSPACED"];
const within = (ranges, code) => ranges.some(([first, last]) => first <= code && code <= last);
const known = new Map();
const classOf = (code) => {
  if (!known.has(code)) {
    known.set(code, PRIORITY.find((name) => within(classes[name], code)) ?? "LETTER");
  }
  return known.get(code);
};
const codePoints = (text) => Array.from(text, (character) => character.codePointAt(0));
const ofText = (codes) => codes.map((code) => String.fromCodePoint(code)).join("");
const oneOf = (characters) => new Set(codePoints(characters));
const INSIDE_WORDS = oneOf("'’·‧׳״");
const INSIDE_NUMBERS = oneOf(".,:٫٬");
const hebrew = (code) => code >= 0x5d0 && code <= 0x5ea;

function splitAtSpaces(text) {
  const words = [];
  text.forEach((code, at) => {
    if (classOf(code) === "SPACES") return;
    if (words.at(-1)?.[1] === at) words.at(-1)[1] = at + 1;
    else words.push([at, at + 1]);
  });
  return words;
}

function split(text) {
  const words = [];
  let start = -1;
  let word = "";
  let base = "";
  text.forEach((code, at) => {
    const kind = classOf(code);
    const [before, after] = [text[at - 1], text[at + 1]];
    const next = after === undefined ? "" : classOf(after);
    const inside = kind === "MARKS" || kind === "FORMATS";
    const continues =
      start >= 0 &&
      (inside ||
        (word === "run" &&
          (kind === "LETTER" ||
            kind === "DIGITS" ||
            (INSIDE_WORDS.has(code) && (next === "LETTER" || next === "DIGITS")) ||
            (INSIDE_NUMBERS.has(code) && base === "DIGITS" && next === "DIGITS") ||
            (code === 0x22 && hebrew(before) && hebrew(after)))) ||
        (word === "symbol" && kind === "SYMBOLS" && before === 0x200d) ||
        (word === "unspaced" && kind === "UNSPACED" && (before === 0x17d2 || before === 0x1039)));
    if (!continues) {
      if (start >= 0) words.push([start, at]);
      start = ["SPACES", "CONTROLS", "FORMATS"].includes(kind) ? -1 : at;
      word = { SYMBOLS: "symbol", UNSPACED: "unspaced" }[kind] ?? "run";
      base = kind;
    } else if (!inside) {
      base = kind;
    }
  });
  if (start >= 0) words.push([start, text.length]);
  return words;
}

// Section 2: word to bytes.

const lower = new Map();
for (const part of tables.LOWERCASE.split(" ")) {
  const form = /^([0-9A-F]+)(?:-([0-9A-F]+))?(\/2)?([+-][0-9A-F]+)$/;
  const [, first, last, step, offset] = part.match(form);
  const end = parseInt(last ?? first, 16);
  for (let code = parseInt(first, 16); code <= end; code += step ? 2 : 1) {
    lower.set(code, code + parseInt(offset, 16));
  }
}
const small = new Set(lower.values());

const clean = (code) => (code >= 0xd800 && code <= 0xdfff ? 0xfffd : code);

function prepared(word, spec) {
  const codes = (word.length ? word : codePoints("<null>")).map(clean);
  const frozen = codes.every((code) => within(tables.NORMALIZED, code));
  if (spec.normalization === "none" || !frozen) return codes;
  return codePoints(ofText(codes).normalize("NFC"));
}

// Section 3: bytes to codes.

const A = 0xc6a4a7935bd1e995n;
const B = 0x9e3779b97f4a7835n;
const cut = (value) => BigInt.asUintN(64, value);
const s = (value) => value ^ (value >> 47n);

function littleEndian(bytes) {
  let value = 0n;
  for (let at = bytes.length - 1; at >= 0; at--) value = (value << 8n) | BigInt(bytes[at]);
  return value;
}

function murmur(bytes, count) {
  let h = cut(BigInt(bytes.length) * A);
  let g = 0n;
  let at = 0;
  for (; at + 8 <= bytes.length; at += 8) {
    const d = littleEndian(bytes.slice(at, at + 8));
    h = cut((h ^ cut(s(cut(d * A)) * A)) * A);
    g ^= h;
  }
  if (at < bytes.length) {
    h = cut((h ^ littleEndian(bytes.slice(at))) * A);
    g ^= h;
  }
  h = cut(s(h) * A);
  g ^= h;
  h = s(h);
  g = cut(s(cut(g * B)) * B);
  const codes = [h, g];
  while (codes.length < count) {
    const [l, m] = codes.slice(-2);
    h = cut(s(l) * A);
    g = m ^ h;
    codes.push(cut(s(cut(g * B)) * B), s(h));
  }
  return codes.slice(0, count);
}

function affix(bytes, count, b) {
  const size = BigInt(bytes.length);
  let [l, m, r, q, i] = [cut(size * A), cut(size * B), A, B, 0];
  const codes = [];
  while (codes.length < count) {
    for (let step = codes.length ? 0 : 1; step < 64 / b; step++) {
      r = cut((cut(r << 8n) | BigInt(bytes[i])) * A);
      q = cut((cut(q << 8n) | BigInt(bytes[bytes.length - 1 - i])) * B);
      l = cut(l << BigInt(b)) | BigInt.asUintN(b, r);
      m = cut(m << BigInt(b)) | BigInt.asUintN(b, q);
      i = (i + 1) % bytes.length;
    }
    codes.push(l, m);
  }
  return codes.slice(0, count);
}

function pairsOf(codes, features) {
  const pairs = [];
  for (const code of codes) {
    for (let half of [Number(code & 0xffffffffn), Number(code >> 32n)]) {
      for (let j = 0; j < 16; j++, half >>>= 2) pairs.push(half & 3);
    }
  }
  return pairs.slice(0, features);
}

const grams = new Map(); // codes of n-grams that occurred before

function ngram(word, features) {
  const encoder = new TextEncoder();
  const middle = word.map((code) => [...encoder.encode(String.fromCodePoint(code))]);
  const characters = [[0xfe], ...middle, [0xff]];
  const sums = new Array(features).fill(0);
  for (const n of [2, 3, 4]) {
    for (let at = 0; at + n <= characters.length; at++) {
      const bytes = characters.slice(at, at + n).flat();
      const key = `${features}:${bytes}`;
      if (!grams.has(key)) {
        const pairs = pairsOf(murmur(bytes, Math.ceil(features / 32)), features);
        grams.set(key, Int8Array.from(pairs, (pair) => [0, 1, -1, 0][pair]));
      }
      const values = grams.get(key);
      for (let j = 0; j < features; j++) sums[j] += values[j];
    }
  }
  return sums.map(Math.sign);
}

// Section 4: codes to fingerprint.

const HYPHENS = oneOf("-\u2010\u2011");
const APOSTROPHES = oneOf("'\u2019");

function shape(word) {
  const kinds = word.map(classOf);
  const capital = word.filter((c) => lower.has(c) || small.has(c)).map((c) => lower.has(c));
  const all = capital.length > 0 && capital.every((c) => c);
  const hyphen = (code, at) => HYPHENS.has(code) && at > 0 && at < word.length - 1;
  const other = (code, at) =>
    kinds[at] === "SYMBOLS" && !APOSTROPHES.has(code) && !hyphen(code, at);
  const digit = kinds.includes("DIGITS");
  const length = kinds.filter((kind) => kind !== "MARKS" && kind !== "FORMATS").length;
  return [
    capital.length > 0 && capital[0],
    all,
    capital.slice(1).some((c) => c) && !all,
    digit,
    digit && !kinds.includes("LETTER") && !kinds.includes("UNSPACED"),
    word.some(hyphen),
    word.some((code) => APOSTROPHES.has(code)),
    word.some(other),
    length < 2,
    length >= 2 && length < 4,
    length >= 4 && length < 7,
    length >= 7,
  ];
}

function fingerprint(word, spec, special = false) {
  const codes = special ? word : prepared(word, spec);
  const lowered = spec.lowercase && !special ? codes.map((c) => lower.get(c) ?? c) : codes;
  const bytes = [...new TextEncoder().encode(ofText(lowered))];
  const pairOf = (value) => maps[spec.map].indexOf(value);
  const pairs = spec.families.flatMap(([name, features]) => {
    const count = Math.ceil(features / 32);
    if (name === "ngram") return ngram(lowered, features).map(pairOf);
    if (name === "murmur") return pairsOf(murmur(bytes, count), features);
    return pairsOf(affix(bytes, count, Number(name.slice(5))), features);
  });
  if (spec.capitalization) {
    const capital = codes.filter((c) => lower.has(c) || small.has(c)).map((c) => lower.has(c));
    const flags = [capital.length > 0 && capital[0], capital.length > 0 && capital.every((c) => c)];
    pairs.splice(-2, 2, ...flags.map((flag) => pairOf(flag ? 1 : -1)));
  }
  if (spec.shape) pairs.push(...shape(codes).map((flag) => pairOf(flag ? 1 : -1)));
  const data = Buffer.alloc(pairs.length / 4);
  pairs.forEach((pair, i) => (data[i >> 2] |= pair << (2 * (i & 3))));
  return data;
}

// Section 5: windows, and pairs of texts.

function keptOfPair(first, second, room) {
  if (first + second <= room) return [first, second];
  const short = Math.min(first, second);
  if (2 * short <= room) return first > second ? [room - short, short] : [short, room - short];
  const [less, more] = [Math.floor(room / 2), Math.ceil(room / 2)];
  return first > second ? [more, less] : [less, more];
}

function pairPositions({ first, second, eos }, kept, spec) {
  const rows = (words) => words.map((word) => fingerprint(codePoints(word), spec));
  const end = fingerprint(codePoints("<EOS>"), spec, true);
  const both = [...rows(first.slice(0, kept[0])), end, ...rows(second.slice(0, kept[1]))];
  return eos ? [...both, end] : both;
}

function windows({ words, max_length, eos, overlap }) {
  const room = max_length - eos;
  const shown = [];
  for (let first = 0; ; first += room - overlap) {
    const end = Math.min(words, first + room);
    shown.push([end === words ? Math.max(0, words - room) : first, end]);
    if (end === words) break;
  }
  const owned = shown.map(() => []);
  for (let word = 0; word < words; word++) {
    const context = shown.map(([first, end]) =>
      first <= word && word < end ? Math.min(word - first, end - 1 - word) : -1,
    );
    owned[context.indexOf(Math.max(...context))].push(word);
  }
  return shown
    .map((range, at) => [range, owned[at]])
    .filter(([, own]) => own.length > 0 || words === 0)
    .map(([range, own]) => ({ shown: range, owned: [own[0] ?? 0, (own.at(-1) ?? -1) + 1] }));
}

// The vectors.

const failures = [];
const compare = (what, found, expected) => {
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    failures.push(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
  }
};
const hexOf = (rows) => Buffer.concat(rows).toString("hex");
const [{ shown, digested }] = read("specs");
const cache = digested.map(() => new Map());
const END = codePoints("<EOS>");
const NULL = codePoints("<null>");

const utterances = [1, 2, 3, 4].flatMap((part) => read(`utterances-${part}`));
for (const { text, times, words, hex: expected, digests } of utterances) {
  const codes = codePoints(text.repeat(times));
  const places = split(codes);
  compare(`words of ${text}`, places, words);
  const cut_words = places.map(([start, end]) => codes.slice(start, end));
  compare(`bytes of ${text}`, hexOf(cut_words.map((word) => fingerprint(word, shown))), expected);
  const found = digested.map((spec, at) => {
    const rows = cut_words.map((word) => {
      const key = String(word);
      if (!cache[at].has(key)) cache[at].set(key, fingerprint(word, spec));
      return cache[at].get(key);
    });
    if (spec.eos) rows.push(fingerprint(END, spec, true));
    else if (!rows.length) rows.push(fingerprint(NULL, spec, true));
    return createHash("sha256").update(Buffer.concat(rows)).digest("hex").slice(0, 8);
  });
  compare(`digests of ${text}`, found, digests);
}

const plain = { map: "operator", normalization: "nfc", lowercase: true, capitalization: false };
const four = { families: [["murmur", 4]] };
const named = {
  cased: { ...plain, ...four, normalization: "none", lowercase: false },
  capitals: { ...plain, ...four, map: "paper", capitalization: true },
  shape: { ...plain, ...four, map: "unbalanced", shape: true },
};
for (const { token, times, special, hex: expected } of read("tokens")) {
  for (const [name, data] of Object.entries(expected)) {
    const [family, map] = name.split("/");
    const spec = named[name] ?? { ...plain, families: [[family, 36]], map };
    const found = fingerprint(codePoints(token.repeat(times)), spec, special);
    compare(`${name} of ${token}`, hexOf([found]), data);
  }
}
for (const item of read("windows")) compare("windows", windows(item), item.windows);
for (const item of read("pairs")) {
  const room = item.max_length - 1 - item.eos;
  const kept = keptOfPair(item.first.length, item.second.length, room);
  compare(`kept of ${item.first} | ${item.second}`, kept, item.kept);
  const rows = pairPositions(item, kept, shown);
  compare(`positions of ${item.first} | ${item.second}`, hexOf(rows), item.hex);
}
for (const { text, words } of read("whitespace")) {
  compare(`whitespace of ${text}`, splitAtSpaces(codePoints(text)), words);
}
for (const { hex: data, text } of read("bytes")) {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  compare(`text of ${data}`, decoder.decode(Buffer.from(data, "hex")), text);
}

console.log(`${utterances.length} utterances, ${failures.length} differences`);
console.log(failures.slice(0, 20).join("\n"));
process.exit(failures.length ? 1 : 0);
