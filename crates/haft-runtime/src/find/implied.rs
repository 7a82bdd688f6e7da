//! What a query is about without saying so: a distance where it has miles, a person where it asks who.
//!
//! What is known here is English, and what people ask computers for. A word that tools of all kinds talk about, as `run`,
//! implies nothing of what it means elsewhere. How much an implied word counts, and for which tools, is left to the index.

use super::words::stem;
use std::{collections::HashMap, sync::LazyLock};

/// What words and pairs of words ask for, and of what kind they are.
const CLEARLY: &[&str] = &[
    "count quantity: how many, number of",
    "date time year: when, what date, what day, what year, what time",
    "location place address: where, what city, what place, what country",
    "name person: who, whose, whom",
    "distance: how far, km, kilometer, kilometers, kilometre, kilometres, mile, miles, meter, meters, metre",
    "distance: metres, feet, foot, yards, far",
    "duration time length: how long",
    "price cost amount: how much",
    "age: how old, old, aged",
    "speed velocity: how fast, how quickly",
    "temperature: how hot, how cold, how warm, celsius, fahrenheit, kelvin, degrees, hot, cold, warm",
    "temperature: freezing",
    "height: how tall, how high, tall",
    "weight: how heavy, kg, kilogram, kilograms, pound, pounds, lbs, gram, grams, ounce, heavy, weigh",
    "weight: weighs, weighing",
    "size area: how big, how large",
    "frequency: how often",
    "depth: how deep",
    "probability: how likely, chance, chances, odds, likelihood, likely, dice, coin",
    "speed: mph, kmh, knots, fast, slow, velocity",
    "time: second, seconds, minute, minutes, hour, hours",
    "duration: minutes, hours, days, weeks, months, years, nights, last for, takes, lasting",
    "volume: liter, liters, litre, litres, gallon, gallons, ml",
    "country: usa, america, france, germany, china, japan, india, canada, brazil, spain, italy, uk, england",
    "country: australia, mexico, russia",
    "unit: km, kilometer, kilometers, mile, miles, kg, kilograms, pounds, celsius, fahrenheit, meters, feet",
    "unit: inches, liters, gallons, grams",
    "radius: miles, km, kilometers, within",
    "date: january, february, march, april, june, july, august, september, october, november, december",
    "date: today, tomorrow, yesterday, tonight, monday, tuesday, wednesday, thursday, friday, saturday",
    "date: sunday, weekend",
    "currency amount: dollar, dollars, euro, euros, yen, rupee, rupees, usd, eur, gbp, jpy, cad, inr, peso",
    "currency amount: pesos, yuan, franc, francs",
    "route direction: get to, drive to, drive from, way to, travel from, travel to",
    "winner result: who won",
    "price: cheap, cheapest, expensive, affordable, worth, cost, dollars",
    "ranking rating: best, top, greatest",
    "latest recent: news, newest",
    "maximum: biggest, largest, highest, most, greatest",
    "minimum: smallest, lowest, least, fewest",
    "birth: born",
    "death: died",
    "location: located, live in, based in",
    "definition meaning: mean by, definition, define",
    "reminder: remind",
    "alarm: wake me",
    "device: turn on, turn off, switch on, switch off",
    "hours: open until, opening, closes, opens",
    "random: roll, toss, shuffle, flip",
    "salary: earn, earns, income, wage, wages",
    "size: big, large, small",
    "quantity: pieces, items, units",
    "author: wrote, written by, writer",
    "invention: invented, inventor",
    "discovery: discovered",
    "capital city: capital of",
    "population: people live, inhabitants",
    "nutrition calories: calories, protein, carbs, nutrients",
    "currency: dollar, dollars, euro, euros, pound, yen, rupee, rupees, peso, pesos, yuan, franc, usd, eur",
    "currency: gbp, jpy, cad, inr, bitcoin",
    "religion: christianity, islam, buddhism, hinduism, judaism, christian, muslim, buddhist, hindu, jewish",
    "religion: catholic, church",
    "sport: football, soccer, basketball, baseball, tennis, cricket, hockey, golf, volleyball, rugby, nba",
    "sport: nfl, mlb, nhl",
    "music: song, songs, album, jazz, rock, pop, band, guitar, piano, violin, concert, singer",
    "instrument: guitar, piano, violin, flute, drum, drums, trumpet, cello, saxophone",
    "animal: dog, dogs, cat, cats, horse, elephant, lion, tiger, bear, bird, fish, whale, wolf",
    "vehicle: car, truck, motorcycle, bus, bike, bicycle, van, suv",
    "food: pizza, pasta, bread, cheese, rice, chicken, beef, fish, apple, banana, cake, cookie, soup, salad",
    "cuisine: italian, chinese, mexican, indian, japanese, thai, french, korean, vegan, sushi, pizza",
    "recipe: cook, bake, pasta, cake, cookies, soup, dish",
    "color: red, blue, green, yellow, black, white, orange, purple, pink, brown, gray",
    "language: english, french, spanish, german, chinese, japanese, italian, portuguese, russian, korean",
    "language: arabic, hindi",
    "city: london, paris, tokyo, berlin, york, chicago, boston, seattle, francisco, angeles, sydney, beijing",
    "city: mumbai, toronto",
    "person: president, king, queen, scientist, author, actor, artist, player",
    "history: war, battle, revolution, ancient, century, empire, historical",
    "event: war, battle, concert, festival, conference, revolution",
    "weather: rain, snow, sunny, wind, humidity, temperature, storm, forecast",
    "disease: cancer, diabetes, flu, covid, malaria, fever, infection",
    "shape: triangle, circle, square, rectangle, cylinder, sphere, cube",
    "area: triangle, circle, rectangle, square",
    "stock: shares, ticker, nasdaq, dow",
    "investment: stocks, bonds, fund, invest, invested, shares",
    "loan: mortgage, borrow",
    "number: integer, digits, prime, factorial, even, odd",
    "math: equation, sum, multiply, divide, square, logarithm, derivative, integral",
    "statistics: median, variance, deviation, correlation, regression",
    "book: novel, author, chapter",
    "movie: film, actor, director, cinema",
    "game: player, play, chess, poker, score",
    "law: court, lawsuit, judge, attorney, lawyer, legal, crime",
    "gene: dna, genome, mutation, chromosome, protein",
    "plant: flower, leaf, rose, garden",
    "planet: earth, mars, jupiter, venus, saturn, mercury",
    "element: hydrogen, oxygen, carbon, iron, gold, silver, helium",
    "chemical: acid, molecule, water, reaction",
    "file: pdf, csv, txt, json, folder",
    "image: photo, picture, png, jpg, jpeg",
    "url: http, https, website, link, www",
    "email: gmail, inbox, mail",
    "phone: dial, sms, mobile",
    "restaurant: dinner, lunch, eat, dining",
    "hotel: room, night, nights, stay",
    "flight: fly, airline, airport, plane",
    "museum: exhibition, gallery, louvre, artwork",
    "art: painting, sculpture, artist, painter",
    "product: buy, purchase, shoes, shirt, laptop, phone",
    "exercise: workout, gym, yoga",
    "health: bmi, calories, blood, heart, doctor",
    "calorie: burn, burned, diet, eat",
    "employee: staff, worker, job, hired",
    "job: career, hiring, vacancy",
    "school: student, teacher, college, university, grade",
];

/// What else words are often said about.
const OFTEN: &[&str] = &[
    "account: login, signup, profile, username, balance, deposit, withdraw, bank",
    "address: street, avenue, road, postcode",
    "age: born, birthday, older, younger",
    "alarm: wake, morning",
    "appointment: doctor, dentist, meeting, schedule",
    "army: military, soldier, troops",
    "average: mean, typical",
    "battery: charge, charging, volt",
    "bond: treasury",
    "building: house, tower, skyscraper, apartment, floor",
    "calendar: meeting, event, schedule, appointment",
    "case: lawsuit, court, plaintiff, defendant, verdict",
    "cell: mitosis, nucleus, membrane, organelle",
    "circuit: voltage, resistor, capacitor, ohm",
    "coin: toss, heads, tails, flip",
    "card: deck, poker, ace, hearts, spades, blackjack",
    "dice: roll, sided, die",
    "company: apple, google, amazon, microsoft, facebook, inc, corporation, firm, startup",
    "compound: interest, compounded, annually",
    "court: judge, trial, lawsuit, supreme",
    "crime: murder, theft, robbery, fraud, arrest",
    "data: dataset, csv, json, table, column, rows",
    "database: sql, query, table, mysql, postgres, mongodb, record, records",
    "derivative: differentiate, slope",
    "device: phone, laptop, tv, thermostat, lamp, speaker, light",
    "diet: vegan, vegetarian, keto, gluten, paleo",
    "direction: route, drive, north, south, east, west, navigate",
    "discount: coupon, sale, percent, promo",
    "dish: pasta, soup, salad, brownies, cake, lasagna",
    "doctor: physician, dentist, dermatologist, cardiologist, pediatrician, clinic",
    "earthquake: magnitude, seismic, richter",
    "education: school, university, college, degree, course",
    "electric: voltage, current, coulomb, ampere",
    "electromagnetic: magnetic, electric, field",
    "energy: joule, joules, kinetic, potential, watt, kwh, calories",
    "equation: solve, root, roots, quadratic, linear, polynomial, coefficients",
    "exchange: convert, dollars, euros, currency, swap",
    "field: magnetic, electric",
    "finance: stock, loan, interest, investment, bank, mortgage, dividend",
    "forecast: weather, tomorrow, predict",
    "force: newton, newtons, gravity",
    "function: derivative, integral, sin, cos, polynomial",
    "gas: oxygen, nitrogen, hydrogen, helium, carbon, emission",
    "genre: comedy, horror, drama, action, romance, thriller, jazz, rock, pop, fantasy",
    "geometry: triangle, circle, rectangle, area, perimeter, angle, radius",
    "government: president, minister, senate, congress, parliament",
    "gravity: planet, orbit",
    "historical: war, century, ancient, battle, empire, revolution, treaty",
    "holiday: christmas, easter, thanksgiving, vacation",
    "home: house, apartment, thermostat, lights",
    "hospital: clinic, emergency, doctor, surgery, nurse",
    "house: bedroom, bedrooms, bathroom, sqft, apartment",
    "index: bmi, gdp, dow, nasdaq",
    "ingredient: flour, sugar, butter, milk, eggs, cheese, tomato, onion, garlic",
    "insurance: policy, premium, claim, coverage",
    "integral: integrate, area, curve",
    "interest: loan, mortgage, deposit, savings, apr",
    "item: weapon, sword, shield, armor, product",
    "king: monarch, queen, throne, reign",
    "lab: experiment, chemistry",
    "language: translate, translation",
    "lawyer: attorney, legal, counsel",
    "league: nba, nfl, nhl, mlb, epl, premier, champions, uefa",
    "match: game, team, football, soccer, score, goals",
    "matrix: vector, determinant, eigenvalue, rows",
    "meal: breakfast, lunch, dinner, snack, brunch",
    "media: video, photo, audio, movie, song",
    "medication: drug, dose, pill, aspirin, ibuprofen, antibiotic",
    "message: text, sms, chat, whatsapp, slack, email",
    "meeting: zoom, teams, calendar, invite",
    "model: train, training, neural, predict, regression, classifier",
    "molecule: atom, chemical, formula, bond, h2o",
    "money: dollars, euros, pay, cash, budget",
    "mortgage: loan, house",
    "mountain: everest, peak, hike, elevation",
    "movie: imdb, netflix, theater, screenplay",
    "museum: exhibit, artifact",
    "musician: singer, band, guitarist",
    "nature: forest, river, lake, ocean",
    "network: ip, server, port, dns, ping, router",
    "news: headline, headlines, article, journalist",
    "ocean: sea, pacific, atlantic, depth",
    "painting: canvas, artist",
    "park: trail, hiking, national, yellowstone",
    "password: login, secure, strong, characters",
    "patient: hospital, medical, diagnosis, symptoms",
    "payment: pay, paypal, visa, mastercard, invoice",
    "percentage: percent, ratio, share",
    "permission: access, role, admin",
    "physics: velocity, acceleration, force, mass, momentum, energy, gravity",
    "player: athlete, striker",
    "poem: poet, verse, rhyme",
    "politics: election, vote, president, senator",
    "population: people, census, citizens",
    "preference: prefer, preferring, favorite",
    "pressure: pascal, atmosphere, psi, bar",
    "prime: divisible, factor, factors",
    "process: running, kill, pid, daemon",
    "property: house, apartment, rent, estate, land",
    "protein: amino, enzyme, dna",
    "quiz: question, answer, trivia",
    "random: dice",
    "rate: percent, interest, exchange, growth",
    "ratio: proportion, divided",
    "reaction: chemical, reactant, equilibrium, catalyst",
    "regression: predict, slope, fit",
    "rent: lease, apartment, tenant",
    "repository: git, github, commit, branch, pull",
    "reservation: book, table, seats, hotel, flight",
    "resistance: ohm, ohms, resistor",
    "review: rating, stars, feedback, opinion",
    "salary: hourly, annual",
    "scientist: newton, physicist, chemist",
    "score: points, goals, exam, grade",
    "sculpture: statue, sculptor, bronze, marble",
    "season: spring, summer, autumn, winter",
    "seat: ticket, theater",
    "sentiment: positive, negative, feeling, emotion, happy, sad",
    "sequence: fibonacci, dna, series",
    "server: host, cloud, instance, vm, docker",
    "series: episode, season, tv, netflix",
    "shipping: deliver, package, ship, courier, fedex, ups",
    "shopping: buy, store, mall, clothes, shoes",
    "size: medium, xl, inches",
    "species: animal, animals, birds, bird, fish, whale, tiger, plant, extinct",
    "square: root, squared",
    "star: sun, constellation, galaxy",
    "statistic: goals, assists, points, rebounds, average, mean",
    "store: walmart, grocery, supermarket, shop, amazon",
    "string: text, word, letters, characters, substring",
    "substance: water, liquid, metal, boil, freeze",
    "survey: respondents, percentage, poll",
    "symptom: pain, fever, cough, headache",
    "task: todo, deadline, finish",
    "tax: irs, income, deduction, taxable",
    "team: club",
    "test: hypothesis, significance",
    "theater: broadway, play, musical",
    "thermal: heat, temperature",
    "ticket: concert, flight, train, bus, seat, admission",
    "time: oclock, pm, am, noon, midnight",
    "timezone: utc, gmt, est, pst",
    "tour: sightseeing, guide, trip",
    "train: railway, amtrak, station",
    "transaction: deposit, withdraw, transfer",
    "transport: bus, train, taxi, subway, uber",
    "travel: trip, flight, hotel, vacation, itinerary",
    "tree: oak, pine, leaf, forest",
    "triangle: hypotenuse",
    "tv: channel, episode, netflix",
    "university: college, campus",
    "user: username, login, member",
    "vector: dot, cross, magnitude",
    "velocity: meters, accelerate",
    "video: youtube, clip, watch, stream",
    "volume: loud, louder, quiet, mute",
    "voltage: battery, volts",
    "vote: election, ballot, candidate",
    "war: battle, civil, revolution, army",
    "water: drink, ocean, river, rain",
    "wavelength: frequency, light",
    "weapon: sword, gun, bow",
    "website: url, page, link, http, www",
    "wildlife: animal, lion, elephant, bear",
    "wine: red, white, grape",
    "word: letters, spelling, vowels",
    "work: hours",
    "year: annual, annually, century, decade",
];

/// What a word counts that is implied often, beside 1 for one that is implied clearly.
const OFTEN_SHARE: f32 = 0.7;
/// Most words that imply something together.
const PHRASE_MAX_WORDS: usize = 2;
/// What is implied by day, month and year.
const DATE: &str = "date";

/// A word that a query implies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Implied<'a> {
    /// The stem of the word.
    pub(super) stem: &'static str,
    /// The words of the query that imply it; none where these are numbers.
    pub(super) by: &'a [String],
    /// How sure that is, from 0 to 1.
    pub(super) share: f32,
}

/// What is implied by a word or a pair: stems, each with how sure that is.
static IMPLIED: LazyLock<HashMap<&'static str, Vec<(String, f32)>>> = LazyLock::new(|| {
    let mut implied: HashMap<&'static str, Vec<(String, f32)>> = HashMap::new();
    for (lines, share) in [(CLEARLY, 1.0), (OFTEN, OFTEN_SHARE)] {
        for (about, phrases) in lines.iter().filter_map(|line| line.split_once(": ")) {
            for phrase in phrases.split(", ") {
                let stems = about.split(' ').map(|word| (stem(word), share));
                implied.entry(phrase).or_default().extend(stems);
            }
        }
    }
    implied
});

/// What the words of a query imply, in their order; the same word may come more than once.
pub(super) fn implied(words: &[String]) -> Vec<Implied<'_>> {
    let mut found = Vec::new();
    for length in 1..=PHRASE_MAX_WORDS {
        for by in words.windows(length) {
            let stems = IMPLIED.get(by.join(" ").as_str()).into_iter().flatten();
            found.extend(stems.map(|(stem, share)| Implied { stem: stem.as_str(), by, share: *share }));
        }
    }
    if words.windows(3).any(is_date) {
        found.push(Implied { stem: DATE, by: &[], share: 1.0 });
    }
    found
}

/// Whether these are day, month and year in any order, as in `2026-11-30`.
fn is_date(words: &[String]) -> bool {
    let is_number = |word: &String| word.bytes().all(|sign| sign.is_ascii_digit());
    words.iter().all(is_number) && words.iter().map(String::len).max() == Some(4)
}

#[cfg(test)]
mod tests {
    use super::{super::words::split, *};

    fn stems(query: &str) -> Vec<&'static str> {
        implied(&split(query)).into_iter().map(|implied| implied.stem).collect()
    }

    #[test]
    fn what_is_asked_for_and_kinds_of_things_are_implied() {
        assert_eq!(stems("How far is it?"), [stem("distance"), stem("distance")], "far, and how far");
        assert_eq!(stems("a sunny place"), [stem("weather")]);
        assert_eq!(stems("what day"), [stem("date"), stem("time"), stem("year")]);
        assert!(stems("xylophone").is_empty() && stems("").is_empty());
    }

    #[test]
    fn what_is_often_said_of_something_is_less_sure_than_its_kind() {
        let words = split("volts, volleyball");
        let found = implied(&words);
        let [often, clearly] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((often.stem, often.by), (stem("voltage").as_str(), &words[..1]));
        assert_eq!((clearly.stem, clearly.by), (stem("sport").as_str(), &words[1..]));
        assert!(often.share < clearly.share);
    }

    #[test]
    fn a_date_is_implied_by_day_month_and_year() {
        assert_eq!(stem(DATE), DATE);
        for query in ["2026-11-30", "30/11/2026", "1.2.2026"] {
            assert_eq!(stems(query), [DATE], "{query}");
        }
        for query in ["2026", "10 20 30", "2026-11", "1.2.20260"] {
            assert!(stems(query).is_empty(), "{query}");
        }
    }

    #[test]
    fn what_tools_of_all_kinds_talk_about_implies_nothing_far_off() {
        let found =
            stems("call text read run level root principal push pull seed tree google show stage target");
        for far in ["phone", "book", "exercise", "game", "math", "loan", "force", "plant", "stock", "series"]
        {
            assert!(!found.contains(&stem(far).as_str()), "{far}: {found:?}");
        }
    }

    #[test]
    fn each_line_says_what_is_implied_and_by_which_words() {
        for line in CLEARLY.iter().chain(OFTEN) {
            let (about, phrases) = line.split_once(": ").expect(line);
            for phrase in about.split(' ').chain(phrases.split(", ")) {
                let words = split(phrase);
                assert_eq!(words.join(" "), phrase, "{line}");
                assert!((1..=PHRASE_MAX_WORDS).contains(&words.len()), "{line}");
            }
        }
    }
}
