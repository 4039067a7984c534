"""Everyday words in many languages, written for the conformance vectors; no text of any corpus."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "am": "ሰላም ሙዚቃ አጫውት ነገ ጠዋት አዲስ አበባ ቤት ውሃ መንገድ፡፡ እባክህ",
    "ar": "شغّل موسيقى غداً صباحاً القاهرة من فضلك بيت كتاب السيّارة مُدرِّسة لا إله",
    "bg": "Пусни музика утре София моля къща ябълка щастие съобщение Ъгъл",
    "bn": "গান চালাও আগামীকাল সকাল ঢাকা অনুগ্রহ বাড়ি বাংলা ক্ষমা ড়",
    "cs": "Pusť hudbu zítra ráno Praha prosím dům žluťoučký kůň úpěl ďábelské",
    "el": "Παίξε μουσική αύριο Αθήνα παρακαλώ σπίτι ΟΔΥΣΣΕΥΣ λόγος ἄνθρωπος Ϊ",
    "fa": "پخش موسیقی فردا تهران لطفاً خانه می‌خواهم کتاب‌ها چای ۱۲۳",
    "fi": "Soita musiikkia huomenna Helsinki kiitos talo yö äiti Åland hääyöaie",
    "fr": "Joue l'hymne demain à Besançon s'il te plaît œuvre Noël aujourd'hui C’est Ça",
    "he": 'תנגן מוזיקה מחר בירושלים בבקשה בית צה"ל ג׳ירפה שָׁלוֹם ספר',
    "hu": "Játssz zenét holnap Győr kérlek ház árvíztűrő tükörfúrógép Őszi",
    "hy": "Միացրու երաժշտություն վաղը Երևան խնդրում տուն գիրք և Ջուր",
    "id": "Putar musik besok pagi Jakarta tolong rumah-rumah kura-kura Selamat",
    "it": "Suona musica domani l'Aquila perché città È così dell’arte",
    "ka": "ჩართე მუსიკა ხვალ თბილისი გთხოვ სახლი ᲡᲐᲥᲐᲠᲗᲕᲔᲚᲝ წყალი",
    "kk": "Ән ертең Алматы өтінемін үй қызғылт Ғалым Әже",
    "km": "ចាក់តន្ត្រី ថ្ងៃស្អែក ភ្នំពេញ សូម ផ្ទះ ខ្មែរ ៤៥",
    "ko": "음악 틀어 줘 내일 서울 부탁해 집 책을 읽다 뷁",
    "lo": "ຫຼິ້ນເພງ ມື້ອື່ນ ວຽງຈັນ ກະລຸນາ ເຮືອນ ໑໒",
    "ml": "പാട്ട് നാളെ കൊച്ചി ദയവായി വീട് മലയാളം ൻ ക്ഷ",
    "my": "သီချင်း မနက်ဖြန် ရန်ကုန် ကျေးဇူးပြု အိမ် မြန်မာ ၁၂",
    "nl": "Speel muziek morgen 's-Hertogenbosch alsjeblieft huis IJsland één zo'n",
    "pl": "Zagraj muzykę jutro Łódź proszę dom żółw źdźbło Święto",
    "pt": "Toca música amanhã São Paulo por favor coração à Ação pão-de-ló",
    "ru": "Включи музыку завтра Москва пожалуйста дом ёлка Й объезд",
    "sw": "Cheza muziki kesho Dar-es-Salaam tafadhali nyumba ng'ombe Watu",
    "ta": "இசை நாளை சென்னை தயவுசெய்து வீடு தமிழ் கொள் ஸ்ரீ",
    "te": "పాట రేపు హైదరాబాద్ దయచేసి ఇల్లు తెలుగు క్షమ",
    "th": "เปิดเพลง พรุ่งนี้เช้า กรุงเทพฯ กรุณา บ้าน น้ำ ๑๒๓ ไม้",
    "tr": "Yarın İstanbul IĞDIR müzik çal lütfen ev şöför ILIK diyarbakır'da",
    "uk": "Увімкни музику завтра Київ будь ласка п'ять м’яч їжак Ґанок",
    "ur": "موسیقی چلاؤ کل لاہور براہ کرم گھر کتاب ۂ پاکستان",
    "vi": "Bật nhạc ngày mai Hà Nội làm ơn nhà tiếng Việt Ướt Đường",
    "zh": "播放音乐 明天早上 北京 请 房子 東京タワー 〇 𠮷野家 ，。",
}

UNUSUAL = [
    *("", " ", "\t\n\u3000", "\u200b\ufeff", ".", "\x00", "a\x00b", "\u0301", "\u200d", "\ufe0f"),
    *("don't rock'n'roll ''quoted'' l’été 'tis dogs'", "at 10:30, 1,234.56 or 3.5 km. 1.2.3 .5 5."),
    *(
        "\u0663\u066b\u0665 \u06f1\u066c\u06f2 １２．５ ½ ² Ⅷ ⅷ ⓐⒶ",
        "U.S.A. e-mail a_b x@y.example #tag",
    ),
    *("I ❤️ NY 👍🏽 👨‍👩‍👧‍👦 🇩🇪🇫🇷 🏴\U000e0067\U000e0062\U000e007f 1️⃣", "😀😀😀 ☺︎ ☺️ 🤷🏿‍♀️"),
    *("cafe\u0301 café Å \u212b A\u030a K \u212a Ω \u2126", "क़ क\u093c ড় ড\u09bc \u0958"),
    *("각 \u1100\u1161\u11a8 \uac00\u11a8", "が か\u3099 ｶﾞ ガ", "q\u0323\u0307 q\u0307\u0323"),
    *(
        "\ufb2a ש\u05c1 \u1e9b\u0323 \u0344 \u0f73 \U0001d15e",
        "e\u0301\ua7c7 \u0301\u0220 é\U0001f9ff",
    ),
    *("ß ẞ İ ı Σ ς ŉ ǰ ΐ ﬁ Ǆ ǅ ǆ ᾈ ᾼ", "Ꭰ ᏸ Ა ა 𐐀 𐒰 𞤀 𝐀 Ⓐ", "\u00ad soft\u00adhyphen \u00adx"),
    *(
        "\ud800",
        "a\udc00b \ud83dx",
        "\ufffd \uffff \U0010ffff \U000f0000",
        "<null> <EOS> <eos> \xfe\xff",
    ),
    *(
        "x" * 7,
        "x" * 8,
        "x" * 9,
        "é" * 4,
        "東" * 20,
        "\u0e01" * 70,
        "\u202eabc\u202c \u2066x\u2069",
    ),
    *(
        "a\u00a0b\u2009c\u2028d\x85e\x1cf",
        "صفحه\u200cها",
        "־ בית־ספר צה״ל ׳א״",
        "ភ្នំ\u17d2ពេញ က\u1039က",
    ),
]
"""Texts that implementations tend to disagree about."""

RULES = [
    # Rule 1 and beginnings.
    "\u0301a \u0301東 \u0301+ \u0301\u0302 \u0301'a",
    "\u00ada \u200d東 \u00ad+ +\u0301a +\u00ad+ 東\u0301a 東\u00ad東",
    # Rule 3: before and after it, each of its characters, marks and formats on both sides.
    "co\u2027op 1\u2027a a\u20271 \u2027a a\u2027 a\u2027\u2027a a·b ·a a· l’a a’’b",
    "ג׳א ׳א צ״ל ״א a'b 'a a'",
    "don'\u0301t don’\u00adt a·\u0301b a\u2027\u200db rock'\u200d'n ג׳\u05b0א a'\u20e3",
    "a\u0301'b a\u00ad'b 1\u20e3'2 a'\u00a0b a'\u200bb l'東 l'ไ l'+ l'- 東'a +'a",
    "5'6 5's 1'000 ٣'x a'5.3 5·3.2 1.2'3 1,2’a.5",
    # Rule 4: the last code point that is neither MARK nor FORMAT decides, and the next one.
    "1\u0301.5 1\u00ad,5 1\u200d:30 1\ufe0f.5 1\u0301\u00ad\u0302.5 ٣\u0301٫٥ ٣\u00ad٬٥",
    "10\u20e3:30 1\u0301\u20e3.5",
    "1.\u03015 1,\u00ad5 1:\u200d30 ٣٫\u0301٥ 1.\u03010 1\u0301.\u03015",
    "a\u0301.5 1a\u0301.5 a1\u0301.5 a\u00ad:5 1a\u00ad,5",
    "\u0301.5 \u0301\u00ad.5 \u03011.5 \ud800.5 1\ud800.5",
    "x.5 v2.5 2x.5 a,5 a:5 ا٫٥ a٬5 1.x 1,a 1..5 1,.5 1.,5 1.5.6 1:2:3 1.5,6:7 1. .1 1.",
    "1\u200b.5 1.\u200b5 1\x00.5 1.東 東.5 1.๑ ๑.๑ ไ๑.๑ ៤៥.៥ 〇.5 ½.5 1.½ １.５ 𝟏.𝟐",
    # Rule 5: directly between Hebrew letters, which are U+05D0 to 05EA.
    'צה"ל א"א ת"ת א"ת" "א צ"" ל צ""ל צ\u05b0"ל צ"\u05b0ל צ\u00ad"ל צ"\u00adל צ"a a"ל 1"ל צ"1 a"b',
    '\u05f0"\u05f0 א"\u05f2 \u05ef"א א"\u05eb \u05eb"א צ\'"ל צ"\'ל צ״"ל א"א"א',
    # Rules 6 and 7: directly after the joiner or the stacker, and only what is of the word's kind.
    "👩\u200d🔬 👩\u200c🔬 👩\u2060🔬 👩\u00ad🔬 👩\u0301\u200d🔬 👩\u200d\u0301🔬",
    "👩\u200d\u200d🔬 +\u200d= .\u200d.",
    "a\u200d👩 1\u200d+ 東\u200d+ +\u200d東 +\u200da +\u200d1 \u200d+ 👩\u200d🔬'a",
    "ក\u17d2ក က\u1039က ก\u17d2ก ក\u17d2\u200dក ក\u17d2\u0301ក ក\u17d2a ក\u17d21",
    "a\u17d2ក 1\u1039က +\u17d2ក \u17d2ក",
]
"""Where each rule of the splitter ends; the spaces keep the cases apart."""

PAIRS = [
    ("play some jazz", "music starts", 16),
    ("play some jazz", "music starts", 6),
    ("play some jazz", "music starts", 5),
    ("music", "play some jazz in München", 6),
    ("play some jazz in München", "music", 5),
    ("a b c d e f g h", "i j k l m n o p", 10),
    ("a b c d e f g h", "i j k l m n o p", 11),
    ("a b c d e f g h i", "j k l m n o p", 10),
    ("a b c d e f g", "h i j k l m n o p", 11),
    ("a b c d e f g", "h i j k l m n o p", 12),
    ("東 京", "", 8),
    ("", "Ünïcode text", 8),
    ("", "", 8),
    ("a b c d e f g h", "", 6),
    ("a", "b", 4),
    ("a b", "c d", 4),
]
"""Words of two texts, with spaces between them, and the positions of a window."""

SHAPED = [
    *("-", "--", "-5", "co-", "well-known", "a‑b", "a‐1", "a–b", "1-2", "-\u0301", "a-\u0301"),
    *("'", "'s", "don't", "don’t", "rock-'n'-roll", "ʼ", "a‘b", "`", "U.S.", "a_b", "$5", "€"),
    *(
        "42",
        "1,234.56",
        "10:30",
        "1st",
        "B2B",
        "٤٢",
        "๔",
        "²",
        "½",
        "Ⅷ",
        "東1",
        "1\u0301",
        "1\u00ad",
    ),
    *("McDonald", "eBay", "DNAs", "A", "Ab", "aB", "ΑΒγ", "ǅ", "ª", "ĸA", "Éa", "e\u0301B", "東A"),
    *("ab", "abc", "abcd", "abcdef", "abcdefg", "e\u0301e\u0301", "\u0301", "\u200d", "a\u200db"),
    *(
        "\u1112\u1161\u11ab",
        "👍🏽",
        "👩\u200d🔬",
        "東京都",
        "ก็",
        " ",
        "a b",
        "\x00",
        "\ue000",
        "\u0378",
    ),
]
"""Words in which each fact of a shape is true of one and false of another like it."""
