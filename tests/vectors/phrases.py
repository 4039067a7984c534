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
