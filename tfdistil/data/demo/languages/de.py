"""German. Values carry their article; ``dat`` is the dative, ``n`` the neuter adjective."""

from __future__ import annotations

from tfdistil.data.demo.grammar import Language

GERMAN = Language(
    code="de",
    helpers={
        "weekday": "Montag; Dienstag; Mittwoch; Donnerstag; Freitag; Samstag; Sonntag",
        "hour": "eins; zwei; drei; vier; fünf; sechs; sieben; acht; neun; zehn; elf; zwölf",
        "ordinal": "ersten; zweiten; dritten; vierten; fünften; sechsten; siebten; achten",
        "first": """Anja; Stefan; Karin; Jürgen; Monika; Thomas; Heike; Uwe; Sabine; Ralf; Petra;
        Dieter; Julia; Markus; Birgit; Torsten; Silke; Matthias""",
        "last": """Becker; Hoffmann; Schulz; Wagner; Krüger; Lorenz; Busch; Seidel; Vogt; Brandt;
        Winkler; Franke; Albrecht; Böhm; Haas; Dietrich; Sommer; Kuhn""",
    },
    slots={
        "device": (
            """die [Lampe]; den [Ventilator]; die [Heizung]; den [Fernseher]; das [Radio];
            die [Kaffeemaschine]; die [Spülmaschine]; die [Klimaanlage]; den [Drucker];
            den [Wasserkocher]; den [Lautsprecher]; das [Deckenlicht]""",
            """den [Luftbefeuchter]; den [Beamer]; den [Staubsauger]; die [Heizdecke];
            den [Backofen]; die [Waschmaschine]; das [Nachtlicht]; die [Gartenpumpe]""",
        ),
        "room": (
            """in der [Küche]; im [Wohnzimmer]; im [Schlafzimmer]; im [Bad]; im [Flur];
            im [Büro]; in der [Garage]; im [Esszimmer]; auf der [Terrasse]; im [Kinderzimmer]""",
            """auf dem [Dachboden]; im [Keller]; im [Gästezimmer]; auf dem [Balkon];
            in der [Speisekammer]; in der [Bibliothek]; im [Wintergarten]""",
        ),
        "color": (
            """rot | n: rotes; blau | n: blaues; grün | n: grünes; weiß | n: weißes;
            violett | n: violettes; gelb | n: gelbes; orange | n: oranges; rosa;
            türkis | n: türkises""",
            "",
        ),
        "level": ("auf [<5-100> Prozent]; auf [die Hälfte]; auf [Maximum]; auf [Minimum]", ""),
        "temperature": ("auf [<15-28> Grad]", ""),
        "song": (
            """Silberner Morgen; Papierwalzer; Ein Weiter Weg; Garten um Mitternacht;
            Goldene Stunde; Sommer ohne Dich; Tanzschuhe; Der Letzte Zug; Bleib noch; Briefe;
            Hallo Fremde; Brückenlichter; Am Fluss Entlang""",
            """Kupferhimmel; Winterpost; Verirrt im Obstgarten; Sanfter Donner; Karussell;
            Leuchtturmlied; Sieben Fenster; Bring den Schnee Zurück; Echotal""",
        ),
        "artist": (
            """Samtfüchse; Clara Winter; Blauer Hafen; Marko Dahl; Nordgassen; Rubina Lang;
            Wiese Elektrisch; Theo Marsch; Nachtportiers; Lila Stein; Hohle Kiefern;
            Greta Feld""",
            """Kobaltstrom; Nina Halber; Blechmatrosen; Oskar Hell; Marmorgarten;
            Wüstenradio; Iris Quelle; Laternenjungs""",
        ),
        "genre": (
            """Jazz; Rock; klassische Musik; Blues; Schlager; Volksmusik; Hip Hop; Reggae; Soul;
            Disco""",
            "Swing; Oper; Punk; Techno; Kammermusik; Gospel; Ska",
        ),
        "time": (
            """um [<1-24> Uhr]; um [halb <hour>]; um [<6-11> Uhr morgens]; um [<5-11> Uhr abends];
            um [Viertel nach <hour>]; um [Viertel vor <hour>]; um [Mitternacht];
            um [<6-22> Uhr <10-55>]""",
            "",
        ),
        "date": (
            """morgen; heute; übermorgen; am [<weekday>] | acc: [<weekday>];
            am [nächsten <weekday>] | acc: [nächsten <weekday>];
            am [Wochenende] | acc: das [Wochenende];
            am [<ordinal> Mai] | acc: den [<ordinal> Mai]""",
            "",
        ),
        "duration": (
            """<2-59> Minuten; <2-12> Stunden; eine halbe Stunde; eine Stunde; <10-59> Sekunden;
            eine Stunde und <5-55> Minuten; eine Viertelstunde""",
            "",
        ),
        "city": (
            """in [Berlin]; in [Hamburg]; in [Wien]; in [Köln]; in [München]; in [Zürich];
            in [Leipzig]; in [Bremen]; in [Dresden]; in [Bad Homburg]; in [Graz]""",
            """in [Stuttgart]; in [Rostock]; in [Salzburg]; in [Kassel]; in [Basel];
            in [Bad Kissingen]; in [Aachen]""",
        ),
        "condition": (
            "regnen; schneien; hageln; sonnig; windig; neblig; gewittern; stürmisch; heiß; kalt",
            "",
        ),
        "contact": (
            """Anna; Benno; Charlotte; David; Emilia; Frank; Greta; Henrik; Ida; Jonas; Klara;
            Lukas; meine [Mutter] | dat: meiner [Mutter]; meinen [Chef] | dat: meinem [Chef];
            meine [Schwester] | dat: meiner [Schwester]; Onkel Karl""",
            """Nele; Oskar; Paula; Robert; Sofie; Till; meinen [Vater] | dat: meinem [Vater];
            meine [Nachbarin] | dat: meiner [Nachbarin]; Tante Erna; Viktoria""",
        ),
        "message": (
            """ich komme später; das Essen ist fertig; ruf mich zurück; wir sehen uns am Bahnhof;
            das Treffen ist verschoben; alles Gute zum Geburtstag; ich bin bald zu Hause;
            die Schlüssel liegen auf dem Tisch; danke für die Blumen; der Zug hat Verspätung""",
            """ich habe den Schirm vergessen; das Paket ist da; lass uns essen gehen;
            dem Hund geht es gut; ich kann heute nicht; bring bitte das Ladegerät mit;
            wir haben gewonnen; schlaf gut""",
        ),
        "item": (
            """Milch; Brot; Eier; Butter; Äpfel; <2-9> Bananen; Kaffee; Olivenöl; Reis; Käse;
            Klopapier; <2-6> Flaschen Wasser; Tomaten; Orangensaft; Salz""",
            """Hafermilch; Batterien; <2-6> Zitronen; Spülmittel; Honig; Pilze; Mehl; Spinat;
            Hundefutter; Kerzen""",
        ),
        "list": (
            """auf die [Einkaufsliste] | zu: zur [Einkaufsliste];
            auf meine [Partyliste] | zu: zu meiner [Partyliste];
            auf die [Wochenliste] | zu: zur [Wochenliste];
            auf den [Einkaufszettel] | zu: zum [Einkaufszettel]""",
            "",
        ),
        "place": (
            """zum [Flughafen]; zum [Bahnhof]; zum [Rathaus]; zum [Stadtpark];
            zur [nächsten Apotheke]; zum [Supermarkt]; zur [Bachstraße]; zur [Arbeit];
            zur [Universität]; zur [Post]; zum [Königsplatz]; zum [Strand]""",
            """zum [Krankenhaus]; zum [Stadion]; zur [Ahornallee]; zum [Hafen];
            zur [nächsten Tankstelle]; zum [Kunstmuseum]; zum [Zoo]; zur [Schwimmhalle]""",
        ),
        "vehicle": (
            """mit dem [Auto]; zu [Fuß]; mit dem [Fahrrad]; mit dem [Bus]; mit der [Bahn];
            mit dem [Taxi]""",
            "",
        ),
        "task": (
            """an den [Zahnarzttermin]; an die [Blumen]; an meine [Tabletten]; an die [Miete];
            an die [Katze]; an den [Bericht]; an das [Elterngespräch]; an den [Reisepass];
            an die [Steuererklärung]; an den [Müll]""",
            """an die [Bücherei]; an den [Hund]; an die [Batterie]; an die [Tischreservierung];
            an die [Fenster]; an den [Mietvertrag]; an das [Klassentreffen]""",
        ),
    },
    intents={
        "device_on": (
            """(bitte |)schalte {device} {room} (ein|an)
            mach {device} {room} an
            (kannst|könntest) du {device} {room} einschalten
            (mach|schalte) (bitte |){device} an
            ich will {device} {room} anmachen""",
            """{device} {room} bitte einschalten
            wärst du so nett {device} {room} anzuschalten""",
        ),
        "device_off": (
            """(bitte |)schalte {device} {room} (aus|ab)
            mach {device} {room} aus
            (kannst|könntest) du {device} {room} ausschalten
            (mach|schalte) (bitte |){device} aus
            ich brauche {device} {room} nicht mehr""",
            """{device} {room} bitte ausschalten
            wärst du so nett {device} {room} auszumachen""",
        ),
        "set_light": (
            """mach das Licht {room} {color}
            (färbe|stell) das Licht {room} {color}
            ich (möchte|will) {color:n} Licht {room}
            (dimme|stell) das Licht {room} {level}
            stell die Helligkeit {room} {level}""",
            """{room} hätte ich gern {color:n} Licht
            fahr die Beleuchtung {room} {level}""",
        ),
        "set_temperature": (
            """stell die (Temperatur|Heizung) {room} {temperature}
            (heiz|wärm) {room} {temperature}
            (erhöhe|senke) die Temperatur {room} {temperature}
            dreh die Heizung {temperature}""",
            """{room} soll die Heizung {temperature} gehen
            regle die Wärme {room} {temperature}""",
        ),
        "play_music": (
            """(bitte |)spiel {song} von {artist}
            spiel (das Lied |){song}
            ich (möchte|will) {artist} hören
            spiel (etwas |ein bisschen |){genre}
            spiel (etwas|ein Lied) von {artist}
            kannst du {room} {genre} spielen""",
            """ich habe Lust auf {genre}
            lass mal {song} von {artist} laufen""",
        ),
        "set_volume": (
            """(stell|dreh) die Lautstärke {level}
            Lautstärke {level}( bitte|)
            (stell|dreh) (die Musik|den Ton) {level}
            ändere die Lautstärke {level}""",
            """ich hätte den Ton gern {level}
            fahr die Musik {level}""",
        ),
        "set_alarm": (
            """stell (einen|den) Wecker für {date:acc} {time}
            (bitte |)weck mich {date} {time}
            ich brauche {date} {time} einen Wecker
            weck mich {time}
            ich will {time} geweckt werden""",
            """ich muss {date} {time} aufstehen
            sorg dafür dass ich {time} wach bin""",
        ),
        "cancel_alarm": (
            """(lösch|streich|entferne) den Wecker {time}
            (lösch|streich) den Wecker für {date:acc} {time}
            ich brauche den Wecker {time} nicht mehr
            (lösch|entferne) alle( meine|) Wecker
            schalte den Wecker {date} aus""",
            """weck mich {date} nicht
            vergiss den Wecker {time}""",
        ),
        "set_timer": (
            """(bitte |)(stell|starte) einen Timer auf {duration}
            starte einen Timer für {duration}
            stell die Uhr auf {duration}
            ich brauche einen Timer für {duration}""",
            """warte {duration} und klingle dann
            zähl {duration} herunter""",
        ),
        "get_weather": (
            """wie wird das Wetter {date} {city}
            wie (wird|ist) das Wetter {city}
            wird es {date} {city} {condition}
            wird es {city} {condition}
            (zeig mir|sag mir) die Vorhersage für {date:acc} {city}""",
            """glaubst du es wird {city} {condition}
            was erwartet mich {date} draußen {city}""",
        ),
        "send_message": (
            """(schick|schreib) {contact:dat} die Nachricht {message}
            schreib {contact:dat} {message}
            sag {contact:dat} {message}
            (bitte |)sende eine Nachricht an {contact} {message}
            ich will {contact:dat} schreiben {message}""",
            """richte {contact:dat} aus {message}
            lass {contact} wissen {message}""",
        ),
        "call_contact": (
            """(bitte |)ruf {contact} an
            ruf (jetzt|sofort) {contact} an
            wähl die Nummer von {contact:dat}
            ich (möchte|will) {contact} anrufen
            starte einen Videoanruf mit {contact:dat}""",
            """verbinde mich mit {contact:dat}
            klingel mal bei {contact:dat} durch""",
        ),
        "add_to_list": (
            """(bitte |)(setz|schreib) {item} {list}
            (setz|schreib) {item} und {item} {list}
            füge {item} {list:zu} hinzu
            ich (möchte|will) {item} {list} setzen
            wir brauchen {item} also setz das {list}""",
            """vergiss nicht {item} {list} zu schreiben
            pack {item} {list}""",
        ),
        "navigate": (
            """(bring|fahr) mich {place}( {vehicle}|)
            navigiere {place}
            wie komme ich {vehicle} {place}
            zeig mir den Weg {place}
            ich will {vehicle} {place}
            wie lange brauche ich {vehicle} {place}""",
            """was ist die schnellste Strecke {place}
            leite mich {vehicle} {place}""",
        ),
        "set_reminder": (
            """erinnere mich {date} {time} {task}
            erinnere mich {date} {task}
            (bitte |)erinnere mich {time} {task}
            stell {date} {time} eine Erinnerung {task} ein""",
            """ich muss {date} {task} denken
            lass mich {date} {time} {task} denken""",
        ),
    },
    requests="""danke das war alles für heute
        habe ich {device} {room} ausgemacht
        wie heißt dieses Lied von {artist}
        wer singt {song}
        wie lange läuft der Timer für {duration} noch
        lies mir die letzte Nachricht von {contact:dat} vor
        habe ich {item} schon notiert
        wie weit ist es {place}
        habe ich {date} einen Wecker gestellt
        wie warm ist es {room}
        (überspring|wiederhole|speichere) {song}
        wann fährt {city} der nächste Zug ab
        wie lautet die Nummer von {contact:dat}
        erzähl mir einen Witz über {item}""",
    entities={
        "PER": (
            "<first> <last>; <first> <last>; <first> <last>; <last>",
            """Annika Rehberg; Bastian Ostermann; Dagmar Pohl; Elmar Wendt; Friederike Lüders;
            Gernot Thiele; Ilka Sander; Konstantin Ebert; Mareike Jansen; Niklas Harms;
            Ottilie Graf; Wendt; Ostermann; Lüders""",
        ),
        "LOC": (
            """Berlin; Hamburg; Österreich; Köln; Bayern; Zürich; Leipzig; Polen; Bremen; Dresden;
            Norwegen; Tirol; Wien; Kenia; Hannover; Bad Homburg""",
            """Stuttgart; Portugal; Rostock; Salzburg; Kassel; Sachsen; Island; Aachen; Vietnam;
            Bad Kissingen""",
        ),
        "ORG": (
            """Nordbank; die [Universität Bremen] | dat: der [Universität Bremen];
            Motorenwerke Harz;
            der [Stadtrat] | dat: dem [Stadtrat]; Talbach Energie; Adler Luftfahrt;
            die [Grüne Partei] | dat: der [Grünen Partei];
            das [Klinikum Eichfeld] | dat: dem [Klinikum Eichfeld]; Silberlinie Medien;
            das [Gesundheitsamt] | dat: dem [Gesundheitsamt]; Granit Versicherung;
            Gipfel Lebensmittel""",
            """Falke Robotik; die [Hochschule Ostbach] | dat: der [Hochschule Ostbach];
            die [Arbeiterunion] | dat: der [Arbeiterunion]; Meridian Bahn; Quarz Telekom;
            das [Handelsministerium] | dat: dem [Handelsministerium]; Eisvogel Pharma;
            der [Kupferverlag] | dat: dem [Kupferverlag]""",
        ),
    },
    news=(
        """{PER} (besuchte|verließ) {LOC} (am <weekday>|vergangene Woche|im Juni).
        {ORG} (eröffnet|schließt) (ein Büro|ein Werk) in {LOC}.
        {PER} arbeitet seit <2001-2024> bei {ORG:dat}.
        {ORG} sucht <20-900> (Menschen|Fachkräfte) in {LOC}, sagte {PER}.
        Die (Preise|Mieten) in {LOC} stiegen laut {ORG:dat} um <2-9> Prozent.
        {PER} wurde in {LOC} geboren und arbeitet (heute|wieder) bei {ORG:dat}.
        Am <weekday> traf {PER} in {LOC} auf {PER}.
        Ein (Sturm|Brand|Streik) legte am <weekday> den Verkehr in {LOC} lahm.
        {PER} unterschrieb <2001-2024> einen Vertrag mit {ORG:dat}.
        Am <weekday> war es (kalt|mild) und niemand wurde verletzt.""",
        """Viele Menschen in {LOC} begrüßen, was {ORG} plant.
        Vor dem Umzug nach {LOC} war {PER} bei {ORG:dat} tätig.
        Das Buch von {PER} erzählt eine Geschichte aus {LOC}.""",
    ),
    reports="""Bei {ORG:dat} wollte sich niemand zu {PER} äußern.
        Die Straße zwischen {LOC} und {LOC} bleibt bis <weekday> gesperrt.
        Die Karten für das Konzert von {PER} in {LOC} sind ausverkauft.
        {ORG} verlor am <weekday> rund <2-9> Prozent an der Börse.
        Niemand weiß, warum die Gespräche mit {ORG:dat} scheiterten.
        {PER} und {PER} teilen sich den Preis des Jahres.
        Die Bauern in {LOC} hoffen auf Regen.""",
)
