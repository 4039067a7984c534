"""English."""

from __future__ import annotations

from tfdistil.data.demo.grammar import Language

ENGLISH = Language(
    code="en",
    helpers={
        "weekday": "Monday; Tuesday; Wednesday; Thursday; Friday; Saturday; Sunday",
        "first": """Alice; Robert; Maria; James; Nora; Edward; Linda; Martin; Susan; Paul; Diana;
        George; Karen; Victor; Laura; Philip; Joan; Simon""",
        "last": """Carter; Bennett; Hughes; Morgan; Fletcher; Walsh; Palmer; Rhodes; Barker; Owens;
        Sutton; Hayes; Lowell; Mercer; Foster; Graham; Norris; Tate""",
        "hour": "one; two; three; four; five; six; seven; eight; nine; ten; eleven; twelve",
    },
    slots={
        "device": (
            """lamp; ceiling light; fan; heater; television; radio; coffee machine; dishwasher;
            air conditioner; floor lamp; printer; kettle; speaker; toaster""",
            """humidifier; projector; robot vacuum; electric blanket; oven; night light;
            washing machine; desk lamp; garden pump""",
        ),
        "room": (
            """in the [kitchen]; in the [living room]; in the [bedroom]; in the [bathroom];
            in the [hallway]; in the [office]; in the [garage]; in the [dining room];
            on the [terrace]; in the [nursery]""",
            """in the [attic]; in the [basement]; in the [guest room]; on the [balcony];
            in the [pantry]; in the [library]; in the [winter garden]""",
        ),
        "color": ("red; blue; green; warm white; purple; orange; yellow; pink; turquoise", ""),
        "level": ("[<5-100> percent]; [half]; [the maximum]; [the minimum]; [level <1-10>]", ""),
        "temperature": ("[<15-28> degrees]; [<60-80> degrees fahrenheit]", ""),
        "song": (
            """Silver Morning; Paper Moon Waltz; Long Way Down; Midnight Garden; Run to the River;
            Golden Hour Blues; Summer Without You; Dancing Shoes; The Last Train; Stay a Little;
            Ocean Drive; Wild Horses of Home; Letters; Under the Bridge Lights; Hello Stranger""",
            """Copper Sky; Winter Postcards; Lost in the Orchard; Velvet Thunder; Falling Upward;
            Carousel; Lighthouse Song; Seventeen Windows; Bring Back the Snow; Echo Valley""",
        ),
        "artist": (
            """The Velvet Foxes; Clara Winters; Blue Harbor; Marcus Dale; Northern Lanes;
            The Paper Kites Club; Ruby Lane; Sam Oakley; Electric Meadow; Daisy Quinn;
            Hollow Pines; The Night Porters; Theo Marsh; Lila Stone""",
            """Cobalt Rivers; Nina Halloway; The Tin Sailors; Oscar Bright; Marble Garden;
            Juniper Wade; Desert Radio; The Lantern Boys; Iris Fontaine""",
        ),
        "genre": (
            "jazz; rock; classical music; blues; country; hip hop; folk; disco; reggae; soul",
            "ambient; bluegrass; swing; synth pop; opera; punk; gospel",
        ),
        "time": (
            """at [<1-12> am]; at [<1-12> pm]; at [half past <hour>]; at [quarter to <hour>];
            at [noon]; at [midnight]; at [<5-11> in the morning]; at [<6-10> in the evening];
            at [<hour> thirty]""",
            "",
        ),
        "date": (
            """tomorrow; today; on [<weekday>]; [next <weekday>]; [this weekend];
            [the day after tomorrow]; on [the <4-20>th of May]""",
            "",
        ),
        "duration": (
            """<2-59> minutes; <2-12> hours; half an hour; one hour; <10-59> seconds;
            one hour and <5-55> minutes; a quarter of an hour""",
            "",
        ),
        "city": (
            """in [London]; in [Boston]; in [Sydney]; in [Dublin]; in [Chicago]; in [Toronto];
            in [New York]; in [Glasgow]; in [Cape Town]; in [Seattle]; in [Paris]; in [Leeds]""",
            """in [Denver]; in [Auckland]; in [San Diego]; in [Cardiff]; in [Vancouver];
            in [Nairobi]; in [Oslo]; in [Bristol]""",
        ),
        "condition": (
            """[rain]; [snow]; be [windy]; be [sunny]; be [cloudy]; be [foggy]; [hail];
            be [stormy]; be [hot]; be [icy]""",
            "",
        ),
        "contact": (
            """Anna; Ben; Charlotte; David; Emily; Frank; Grace; Henry; Isabel; Jack; Kate;
            Liam; my [mom]; my [boss]; my [sister]; Doctor Parker; Uncle Joe""",
            """Noah; Olivia; Peter; Quentin; Rachel; Sophie; Tom; my [dad]; my [landlord];
            Aunt Mary; my [neighbor]; Victoria""",
        ),
        "message": (
            """I am running late; dinner is ready; call me back; see you at the station;
            the meeting is moved; happy birthday; I will be home soon; the keys are on the table;
            thank you for the flowers; we need more time; the train is delayed; good luck""",
            """I forgot my umbrella; the package has arrived; let us have lunch; the dog is fine;
            I cannot come today; please bring the charger; we won the game; sleep well""",
        ),
        "item": (
            """milk; bread; eggs; butter; apples; <2-9> bananas; coffee; olive oil; rice; cheese;
            toilet paper; <2-6> bottles of water; tomatoes; chicken; orange juice; salt""",
            """oat milk; batteries; <2-6> lemons; dish soap; peanut butter; honey; mushrooms;
            a bag of flour; dog food; spinach; candles""",
        ),
        "list": ("my [shopping] list; the [grocery] list; my [party] list; the [weekend] list", ""),
        "place": (
            """to the [airport]; to the [train station]; to the [city hall]; to [Central Park];
            to the [nearest pharmacy]; to the [supermarket]; to [Baker Street]; to [work];
            to the [university]; to the [post office]; to [King Square]; to the [beach]""",
            """to the [hospital]; to the [stadium]; to [Maple Avenue]; to the [harbor];
            to the [next gas station]; to the [museum of art]; to the [zoo]; to [River Road]""",
        ),
        "vehicle": ("by [car]; on [foot]; by [bike]; by [bus]; by [train]; by [taxi]", ""),
        "task": (
            """to [buy flowers]; to [water the plants]; to [take my pills]; to [pay the rent];
            to [call the dentist]; to [feed the cat]; to [lock the door]; to [send the report];
            to [pick up the kids]; to [renew my passport]""",
            """to [return the books]; to [walk the dog]; to [charge the battery];
            to [book a table]; to [clean the windows]; to [visit grandma]; to [sign the lease]""",
        ),
    },
    intents={
        "device_on": (
            """(please |)(turn|switch) on the {device} {room}
            (turn|switch) the {device} on( please|)
            can you (turn|switch) on the {room:bare} {device}
            start the {device} {room}
            I want the {device} {room} on""",
            """would you mind turning the {device} {room} on
            get the {room:bare} {device} going""",
        ),
        "device_off": (
            """(please |)(turn|switch) off the {device} {room}
            (turn|switch) the {device} off( please|)
            can you (turn|switch) off the {room:bare} {device}
            stop the {device} {room}
            I do not need the {device} {room} anymore""",
            """would you mind turning the {device} {room} off
            shut down the {room:bare} {device}""",
        ),
        "set_light": (
            """(make|turn) the (light|lights) {room} {color}
            (change|set) the {room:bare} (light|lights) to {color}
            dim the (light|lights) {room} to {level}
            set the brightness {room} to {level}
            I would like {color} light {room}""",
            """give me {color} light {room}
            bring the {room:bare} lights (up|down) to {level}""",
        ),
        "set_temperature": (
            """set the (temperature|heating) {room} to {temperature}
            (please |)(warm|heat) up the {room:bare} to {temperature}
            make it {temperature} {room}
            (raise|lower) the temperature to {temperature}
            I want it to be {temperature} {room}""",
            """the {room:bare} should be at {temperature}
            keep {temperature} {room}""",
        ),
        "play_music": (
            """(please |)play {song} by {artist}
            play (the song |){song}
            I want to (hear|listen to) {artist}
            put on (some |){genre}
            play (something|a song) by {artist}
            can you play (some |){genre} {room}""",
            """I am in the mood for (some |){genre}
            let me hear {song} from {artist}""",
        ),
        "set_volume": (
            """(set|turn|change) the volume to {level}
            volume (at|to) {level}( please|)
            turn the (music|sound) (up|down) to {level}
            put the volume of the {device} at {level}""",
            """I would like the sound at {level}
            make the {device} play at {level}""",
        ),
        "set_alarm": (
            """set an alarm {time} {date}
            (please |)wake me up {date} {time}
            I need an alarm {date} {time}
            (create|add) an alarm {time}
            wake me up {time}""",
            """I have to get up {time} {date}
            make sure I am awake {time}""",
        ),
        "cancel_alarm": (
            """(cancel|delete|remove) (my|the) alarm {time}
            (cancel|delete|remove) the alarm {date} {time}
            turn off (my|the) alarm {date}
            I do not need the alarm {time} anymore
            (cancel|delete) all my alarms( {date}|)""",
            """do not wake me up {date}
            forget about the alarm {time}""",
        ),
        "set_timer": (
            """(please |)(set|start) a timer for {duration}
            (set|start) a timer of {duration}
            (count down|countdown) {duration}
            I need a timer for {duration}""",
            """ring after {duration}
            let me know in {duration}""",
        ),
        "get_weather": (
            """what is the weather (like |){city} {date}
            how is the weather {city}( {date}|)
            will it {condition} {city} {date}
            is it going to {condition} {date}( {city}|)
            (show|give) me the forecast {date} {city}""",
            """do you think it will {condition} {city} {date}
            what should I expect outside {city} {date}""",
        ),
        "send_message": (
            """(send|write) a message to {contact} saying {message}
            text {contact} {message}
            tell {contact} that {message}
            (please |)message {contact} {message}
            send {contact} a (text|message) that says {message}""",
            """let {contact} know that {message}
            write to {contact} {message}""",
        ),
        "call_contact": (
            """(please |)call {contact}
            (call|dial|phone) {contact} (now|please|on the speaker)
            make a call to {contact}
            I want to (call|talk to) {contact}
            start a video call with {contact}""",
            """get {contact} on the line
            give {contact} a ring""",
        ),
        "add_to_list": (
            """(please |)(add|put) {item} (to|on) {list}
            add {item} and {item} to {list}
            I need {item} on {list}
            (write|note) {item} on {list}
            we are out of {item} add it to {list}""",
            """{list} should have {item}
            do not let me forget {item} add that to {list}""",
        ),
        "navigate": (
            """(take|drive) me {place}( {vehicle}|)
            (navigate|directions) {place}
            how do I get {place} {vehicle}
            show me the way {place}
            I want to go {place} {vehicle}
            how long does it take {place}( {vehicle}|)""",
            """what is the fastest route {place}
            guide me {place} {vehicle}""",
        ),
        "set_reminder": (
            """remind me {task} {date} {time}
            remind me {date} {task}
            (please |)set a reminder {task} {time}
            I need a reminder {date} {time} {task}""",
            """do not let me forget {task} {date}
            {date} {time} I have {task}""",
        ),
    },
    requests="""thank you that is all for {date:bare}
        is the {device} {room} still on
        which song is this by {artist}
        who sings {song}
        how many minutes are left on the timer of {duration}
        read me the last message from {contact}
        what is on {list}
        is {item} already on {list}
        how far is it {place}
        do I have an alarm {date}
        what is the temperature {room}
        (skip|repeat|save) {song}
        when does the next train leave {city:bare}
        what is the phone number of {contact}
        tell me a joke about {item}""",
    entities={
        "PER": (
            """<first> <last>; <first> <last>; <first> <last>; <last>""",
            """Amara Osei; Gareth Pugh; Helen Abbott; Imogen Clay; Jasper Thorne; Keira Nolan;
            Lorna Whitfield; Miles Ashby; Priya Nair; Rowan Sinclair; Tessa Blackwood; Winston;
            Yolanda Reyes; Doyle; Fitzgerald; Abbott""",
        ),
        "LOC": (
            """London; Boston; Kenya; Sydney; Brazil; Dublin; New York; Canada; Manchester; Texas;
            Lake Ontario; Glasgow; India; Cape Town; Norway; Chicago; Egypt; Bristol""",
            """Denver; Portugal; Auckland; San Diego; Vietnam; Cardiff; Mount Kenya; Peru; Leeds;
            Nova Scotia; Poland; Savannah""",
        ),
        "ORG": (
            """Northgate Bank; the [University of Leeds]; Harper Motors; the [City Council];
            Bluewater Energy; Redwood Airlines; the [Green Party]; Oakfield Hospital; Vertex Labs;
            Silverline Media; the [Ministry of Health]; Granite Insurance; Summit Foods""",
            """Falcon Robotics; Eastbrook College; the [Workers Union]; Meridian Rail;
            Quartz Telecom; the [Ministry of Trade]; Halcyon Pharma; Riverside Rovers;
            Copperfield Press""",
        ),
    },
    news=(
        """{PER} (visited|left|returned to) {LOC} (on <weekday>|last week|in June).
        {ORG} (opened|closed) (an office|a factory) in {LOC}.
        {PER} (joined|left) {ORG} (last year|in <2001-2024>).
        {ORG} (will hire|dismissed) <20-900> (people|workers) in {LOC}, {PER} said.
        The (prices|rents) in {LOC} rose by <2-9> percent, according to {ORG}.
        {PER} was born in {LOC} and (works|teaches) at {ORG}.
        On <weekday>, {PER} met {PER} in {LOC}.
        A (storm|fire|strike) stopped the traffic in {LOC} on <weekday>.
        {ORG} and {ORG} signed a contract in <2001-2024>.
        The weather was (cold|mild) on <weekday> and nobody was hurt.""",
        """Residents of {LOC} welcomed the plan of {ORG}.
        Before moving to {LOC}, {PER} had worked for {ORG}.
        The book by {PER} tells a story from {LOC}.""",
    ),
    reports="""A spokesman for {ORG} declined to comment on {PER}.
        The road between {LOC} and {LOC} is closed until <weekday>.
        Tickets for the concert of {PER} in {LOC} were sold out.
        Shares of {ORG} fell by <2-9> percent on <weekday>.
        Nobody knows why the talks with {ORG} failed.
        {PER} and {PER} share the prize of the year.
        Farmers in {LOC} hope for more rain on <weekday>.""",
)
