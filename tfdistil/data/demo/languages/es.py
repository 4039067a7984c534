"""Spanish. Articles and contractions (al, del) travel with the values, adjectives agree by form."""

from __future__ import annotations

from tfdistil.data.demo.grammar import Language

SPANISH = Language(
    code="es",
    helpers={
        "weekday": "lunes; martes; miércoles; jueves; viernes; sábado; domingo",
        "first": """Lucía; Carlos; Marta; Javier; Elena; Andrés; Pilar; Diego; Carmen; Raúl; Inés;
        Sergio; Rosa; Miguel; Teresa; Álvaro; Beatriz; Hugo""",
        "last": """García; Moreno; Ruiz; Navarro; Molina; Ortega; Delgado; Castro; Vargas; Rubio;
        Serrano; Blanco; Suárez; Iglesias; Cortés; Medina; Peña; Lozano""",
    },
    slots={
        "device": (
            """la [lámpara]; el [ventilador]; la [calefacción]; el [televisor]; la [radio];
            la [cafetera]; el [lavavajillas]; el [aire acondicionado]; la [impresora];
            el [altavoz]; la [tostadora]; la [luz del techo]""",
            """el [humidificador]; el [proyector]; la [aspiradora]; la [manta eléctrica];
            el [horno]; la [lavadora]; el [flexo]; la [bomba de agua]""",
        ),
        "room": (
            """en la [cocina]; en el [salón]; en el [dormitorio]; en el [baño]; en el [pasillo];
            en el [despacho]; en el [garaje]; en el [comedor]; en la [terraza]""",
            """en el [desván]; en el [sótano]; en la [habitación de invitados]; en el [balcón];
            en la [despensa]; en la [biblioteca]""",
        ),
        "color": (
            """rojo | f: roja; azul; verde; blanco | f: blanca; morado | f: morada;
            amarillo | f: amarilla; naranja; rosa; turquesa""",
            "",
        ),
        "level": ("al [<5-100> por ciento]; al [máximo]; al [mínimo]; a la [mitad]", ""),
        "temperature": ("a [<15-28> grados]", ""),
        "song": (
            """Mañana de Plata; Vals de Papel; Camino Largo; Jardín Nocturno; Corre al Río;
            Hora Dorada; Verano sin Ti; Zapatos de Baile; El Último Tren; Quédate un Poco;
            Cartas; Hola Forastera; Luces del Puente; Dos Gardenias Rojas""",
            """Cielo de Cobre; Postales de Invierno; Perdidos en el Huerto; Trueno Suave;
            Carrusel; Canción del Faro; Siete Ventanas; Que Vuelva la Nieve; Valle del Eco""",
        ),
        "artist": (
            """Los Zorros Azules; Clara Montes; Puerto Norte; Marcos Dalí; Las Golondrinas;
            Rita Luna; Pradera Eléctrica; Tomás Roble; Pinos Huecos; Nadia Soler; Los Faroleros;
            Julia Marés""",
            """Ríos de Cobalto; Nina Albores; Los Marineros; Óscar Brillante; Radio Desierto;
            Irene Fontana; Jardín de Mármol; Los Tejones""",
        ),
        "genre": (
            """jazz; rock; música clásica; blues; flamenco; salsa; cumbia; bossa nova; tango;
            reguetón""",
            "bachata; ópera; punk; swing; música electrónica; boleros; ska",
        ),
        "time": (
            """a las [<2-12>] | de: de las [<2-12>];
            a las [<2-11> y media] | de: de las [<2-11> y media];
            a las [<6-11> de la mañana] | de: de las [<6-11> de la mañana];
            a las [<2-7> de la tarde] | de: de las [<2-7> de la tarde];
            a las [<8-11> de la noche] | de: de las [<8-11> de la noche];
            a las [<2-11> menos cuarto] | de: de las [<2-11> menos cuarto];
            a la [una y media] | de: de la [una y media];
            a [mediodía] | de: de [mediodía]""",
            "",
        ),
        "date": (
            """mañana; hoy; [pasado mañana]; el [<weekday>]; el [próximo <weekday>];
            este [fin de semana]; el [<4-28> de mayo]""",
            "",
        ),
        "duration": (
            """<2-59> minutos; <2-12> horas; media hora; una hora; <10-59> segundos;
            una hora y <5-55> minutos; un cuarto de hora""",
            "",
        ),
        "city": (
            """en [Madrid]; en [Sevilla]; en [Lima]; en [Bogotá]; en [Valencia]; en [Quito];
            en [Bilbao]; en [Granada]; en [Buenos Aires]; en [Caracas]; en [Zaragoza]""",
            """en [Málaga]; en [Montevideo]; en [Oviedo]; en [Guadalajara]; en [Toledo];
            en [San Sebastián]; en [Cádiz]""",
        ),
        "condition": (
            """[llover]; [nevar]; hacer [viento]; hacer [sol]; haber [niebla]; haber [tormenta];
            hacer [calor]; hacer [frío]; [granizar]""",
            "",
        ),
        "contact": (
            """Ana; Benito; Carlota; Daniel; Emilia; Fernando; Gloria; Enrique; Isabel; Joaquín;
            Leonor; mi [madre]; mi [jefe]; mi [hermana]; Paco; mi [tío Luis]""",
            """Nuria; Ofelia; Pedro; Rodrigo; Sonia; Vicente; mi [padre]; mi [vecina];
            mi [abuela]; Ximena; Adolfo""",
        ),
        "message": (
            """llego tarde; la cena está lista; estoy en la estación; la reunión se ha movido;
            llegaré pronto a casa; las llaves están en la mesa; necesitamos más tiempo;
            el tren viene con retraso; ya he comido; nos vemos luego; no hay pan""",
            """he olvidado el paraguas; el paquete ha llegado; el perro está bien;
            hoy no puedo ir; hemos ganado el partido; falta el cargador; la puerta está abierta""",
        ),
        "item": (
            """leche; pan; huevos; mantequilla; manzanas; <2-9> plátanos; café; aceite de oliva;
            arroz; queso; papel higiénico; <2-6> botellas de agua; tomates; pollo; sal""",
            """leche de avena; pilas; <2-6> limones; detergente; miel; champiñones; harina;
            espinacas; velas; comida para el perro""",
        ),
        "list": (
            """a la [lista de la compra]; a mi [lista]; a la [lista del supermercado];
            a la [lista de la fiesta]""",
            "",
        ),
        "place": (
            """al [aeropuerto]; a la [estación de tren]; al [ayuntamiento]; al [parque central];
            a la [farmacia más cercana]; al [supermercado]; a la [calle Mayor]; al [trabajo];
            a la [universidad]; a [casa]; a la [plaza del Rey]; a la [playa]""",
            """al [hospital]; al [estadio]; a la [avenida del Arce]; al [puerto];
            a la [próxima gasolinera]; al [museo de arte]; al [zoo]; a la [piscina]""",
        ),
        "vehicle": ("en [coche]; a [pie]; en [bici]; en [autobús]; en [tren]; en [taxi]", ""),
        "task": (
            """comprar flores; regar las plantas; tomar las pastillas; pagar el alquiler;
            llamar al dentista; dar de comer al gato; cerrar la puerta; enviar el informe;
            recoger a los niños; renovar el pasaporte""",
            """devolver los libros; pasear al perro; cargar la batería; reservar una mesa;
            limpiar las ventanas; visitar a la abuela; firmar el contrato""",
        ),
    },
    intents={
        "device_on": (
            """(por favor |)(enciende|pon en marcha) {device} {room}
            enciende {device}( por favor|)
            (puedes|podrías) encender {device} {room}
            quiero que enciendas {device} {room}
            {room} enciende {device}""",
            """te importaría encender {device} {room}
            necesito {device} {room} en marcha""",
        ),
        "device_off": (
            """(por favor |)apaga {device} {room}
            apaga {device}( por favor|)
            (puedes|podrías) apagar {device} {room}
            quiero que apagues {device} {room}
            {room} apaga {device}""",
            """te importaría apagar {device} {room}
            ya no necesito {device} {room}""",
        ),
        "set_light": (
            """pon la luz {room} (de color|en) {color}
            cambia la luz {room} a {color}
            quiero una luz {color:f} {room}
            (sube|baja|pon) la luz {room} {level}
            (sube|baja) el brillo {level} {room}""",
            """me gustaría tener luz {color:f} {room}
            deja las luces {room} {level}""",
        ),
        "set_temperature": (
            """pon la (temperatura|calefacción) {room} {temperature}
            (sube|baja) la temperatura {temperature}
            (calienta|enfría) el ambiente {room} {temperature}
            quiero estar {temperature} {room}
            ajusta el termostato {temperature}""",
            """{room} prefiero estar {temperature}
            deja la casa {temperature}""",
        ),
        "play_music": (
            """(por favor |)pon {song} de {artist}
            (reproduce|toca) (la canción |){song}
            quiero (escuchar|oír) a {artist}
            pon (algo de|un poco de) {genre}
            pon (algo|una canción) de {artist}
            puedes poner {genre} {room}""",
            """me apetece escuchar {genre}
            déjame oír {song} de {artist}""",
        ),
        "set_volume": (
            """(pon|sube|baja) el volumen {level}
            volumen {level}( por favor|)
            (pon|sube|baja) (la música|el sonido) {level}
            ajusta el volumen {level}""",
            """quiero el sonido {level}
            deja la música {level}""",
        ),
        "set_alarm": (
            """(pon|crea) una alarma para {date} {time}
            (por favor |)despiértame {date} {time}
            necesito una alarma {time}
            despiértame {time}
            programa una alarma {time} para {date}""",
            """tengo que levantarme {date} {time}
            asegúrate de que me despierto {time}""",
        ),
        "cancel_alarm": (
            """(cancela|borra|quita) la alarma {time:de}
            (cancela|borra|quita) la alarma {time:de} para {date}
            ya no necesito la alarma {time:de}
            (cancela|borra) todas (las|mis) alarmas
            apaga la alarma para {date}""",
            """no me despiertes {date}
            olvida la alarma {time:de}""",
        ),
        "set_timer": (
            """(por favor |)(pon|inicia) un temporizador de {duration}
            cuenta atrás de {duration}
            necesito un temporizador de {duration}
            pon {duration} en el temporizador""",
            """avísame dentro de {duration}
            espera {duration} y avísame""",
        ),
        "get_weather": (
            """qué tiempo (hará|va a hacer) {city} {date}
            cómo estará el tiempo {city}( {date}|)
            va a {condition} {date} {city}
            crees que va a {condition} {city}( {date}|)
            dime el pronóstico {city} para {date}""",
            """puede {condition} {city} {date}
            qué me espera fuera {city} {date}""",
        ),
        "send_message": (
            """(manda|envía) un mensaje a {contact} diciendo que {message}
            dile a {contact} que {message}
            escribe a {contact} que {message}
            (por favor |)mándale a {contact} el mensaje {message}
            quiero (escribir|decir) a {contact} que {message}""",
            """avisa a {contact} de que {message}
            que {contact} sepa que {message}""",
        ),
        "call_contact": (
            """(por favor |)llama a {contact}
            llama a {contact} (ahora|con el altavoz)
            haz una llamada a {contact}
            quiero (llamar a|hablar con) {contact}
            inicia una videollamada con {contact}""",
            """ponme con {contact}
            márcale a {contact}""",
        ),
        "add_to_list": (
            """(por favor |)(añade|agrega) {item} {list}
            (añade|agrega) {item} y {item} {list}
            agrega {list} {item}
            quiero añadir {item} {list}
            hay que comprar {item} añade eso {list}""",
            """suma {item} {list}
            que no se me olvide {item} agrega eso {list}""",
        ),
        "navigate": (
            """llévame {place}( {vehicle}|)
            cómo (llego|voy) {place}( {vehicle}|)
            (enséñame|muéstrame) el camino {place}
            quiero ir {place} {vehicle}
            cuánto se tarda {vehicle} {place}""",
            """cuál es la ruta más rápida {place}
            guíame {place} {vehicle}""",
        ),
        "set_reminder": (
            """recuérdame {task} {date} {time}
            recuérdame {date} {task}
            (pon|crea) un recordatorio para {task} {date} {time}
            (por favor |)recuérdame {time} {task}""",
            """que no se me olvide {task} {date}
            {date} {time} tengo que {task}""",
        ),
    },
    requests="""gracias eso es todo por hoy
        sigue {device} en marcha {room}
        qué canción de {artist} es esta
        quién canta {song}
        cuánto le queda al temporizador de {duration}
        léeme el último mensaje de {contact}
        ya he comprado {item} y {item}
        está {room} {device}
        a qué distancia estoy si voy {place}
        tengo alguna alarma para {date}
        qué temperatura hace {room}
        (salta|repite|guarda) {song}
        cuándo es el próximo concierto de {artist} {city}
        cuál es el teléfono de {contact}""",
    entities={
        "PER": (
            "<first> <last>; <first> <last>; <first> <last>; <last>",
            """Ainhoa Bermejo; Gonzalo Pizarro; Lorena Quintana; Matías Echeverría; Rocío Salgado;
            Tobías Herrero; Valeria Montoya; Ximena Lara; Fabián Cuesta; Noelia Arroyo;
            Ulises Bravo; Quintana; Echeverría; Salgado""",
        ),
        "LOC": (
            """Madrid; Sevilla; Colombia; Lima; Chile; Valencia; Buenos Aires; Bolivia; Bilbao;
            Galicia; Granada; Cuba; Zaragoza; Noruega; Caracas; Portugal""",
            """Málaga; Paraguay; Montevideo; Oviedo; Asturias; Guadalajara; Islandia; Toledo;
            Costa Rica; San Sebastián""",
        ),
        "ORG": (
            """Banco Ribera; la [Universidad de Sevilla]; Motores Altamira; el [Ayuntamiento];
            Energía Azul; Aerolíneas Robledo; el [Partido Verde]; el [Hospital del Mar];
            Medios Argenta; el [Ministerio de Sanidad]; Seguros Granito; Alimentos Cumbre""",
            """Robótica Halcón; el [Colegio de Ingenieros]; el [Sindicato Obrero];
            Ferrocarriles Meridiano; Telefonía Cuarzo; el [Ministerio de Comercio];
            Farmacéutica Alción; la [Editorial Cobre]""",
        ),
    },
    news=(
        """{PER} (visitó|abandonó) {LOC} (el <weekday>|la semana pasada|en junio).
        {ORG} (abrió|cerró) (una oficina|una fábrica) en {LOC}.
        {PER} trabaja para {ORG} desde <2001-2024>.
        {ORG} (contratará|despedirá) a <20-900> (personas|trabajadores) en {LOC}, dijo {PER}.
        Los (precios|alquileres) en {LOC} subieron un <2-9> por ciento, según {ORG}.
        {PER} nació en {LOC} y (trabaja|enseña) en {ORG}.
        El <weekday>, {PER} se reunió con {PER} en {LOC}.
        Una (tormenta|huelga|avería) paró el tráfico en {LOC} el <weekday>.
        {ORG} y {ORG} firmaron un contrato en <2001-2024>.
        El <weekday> hizo (frío|calor) y nadie resultó herido.""",
        """Los vecinos de {LOC} celebraron la decisión que tomó {ORG}.
        Antes de mudarse a {LOC}, {PER} había trabajado en {ORG}.
        El libro de {PER} cuenta una historia de {LOC}.""",
    ),
    reports="""Fuentes cercanas a {PER} no quisieron hablar sobre {ORG}.
        La carretera entre {LOC} y {LOC} sigue cortada hasta el <weekday>.
        Las entradas para el concierto de {PER} en {LOC} se agotaron.
        {ORG} perdió un <2-9> por ciento en la bolsa el <weekday>.
        Nadie sabe por qué fracasaron las negociaciones con {ORG}.
        {PER} y {PER} comparten el premio del año.
        Los agricultores de {LOC} esperan más lluvia.""",
)
