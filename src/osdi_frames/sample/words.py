"""What the sample is made of: names, places, causes and the labels that break careless software.

Every host is under example.org, example.net or example.com, every phone number from the range
555-0100 to 555-0199 that is kept free for fiction, and no name is meant for anybody.
"""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A town with what a geocoder says about it, and its telephone prefix."""

    locality: str
    region: str
    postal_code: str
    country: str
    latitude: float
    longitude: float
    dialled: str


# The first is the likeliest. Zones of half hours, of none and of both hemispheres are among them.
PLACES = (
    Place("Oakland", "CA", "94607", "US", 37.8044, -122.2712, "+1510"),
    Place("Washington", "DC", "20009", "US", 38.9072, -77.0369, "+1202"),
    Place("Brooklyn", "NY", "11201", "US", 40.6782, -73.9442, "+1718"),
    Place("Chicago", "IL", "60614", "US", 41.8781, -87.6298, "+1312"),
    Place("Phoenix", "AZ", "85004", "US", 33.4484, -112.074, "+1602"),
    Place("Honolulu", "HI", "96815", "US", 21.3069, -157.8583, "+1808"),
    Place("Montréal", "QC", "H2X 1Y4", "CA", 45.5019, -73.5674, "+1514"),
    Place("St. John's", "NL", "A1C 5H1", "CA", 47.5615, -52.7126, "+1709"),
    Place("London", "ENG", "SW1A 1AA", "GB", 51.5074, -0.1278, "+1202"),
    Place("München", "BY", "80331", "DE", 48.1351, 11.582, "+1202"),
    Place("Kathmandu", "P3", "44600", "NP", 27.7172, 85.324, "+1202"),
    Place("Adelaide", "SA", "5000", "AU", -34.9285, 138.6007, "+1202"),
    Place("東京", "13", "100-0001", "JP", 35.6762, 139.6503, "+1202"),
)

GIVEN_NAMES = (
    *("Ada", "Ben", "Carmen", "Dmitri", "Esther", "Farid", "Grace", "Hugo", "Ines", "Jamal", "Keiko"),
    *("Liam", "Maya", "Nia", "Omar", "Priya", "Quinn", "Rosa", "Sam", "Tess", "Uma", "Victor", "Wren"),
    *("Zoë", "José", "François", "Łukasz", "Åsa", "محمد", "שרה", "美咲", "Олена", "Ngọc", "Jo\u0308rg"),
)
FAMILY_NAMES = (
    *("Abara", "Baker", "Castillo", "Dunn", "Evans", "Foster", "García", "Hughes", "Ito", "Jensen"),
    *("Kaur", "Lopez", "Moreau", "Nguyen", "O'Brien", "Petrov", "Quist", "Rivera", "Smith-Jones"),
    *("Tran", "Usman", "Vega", "Weiß", "Xu", "Young", "Žižka", "العربي", "כהן", "田中", "van der Berg"),
)
STREETS = (
    "Main St",
    "Oak Ave",
    "Broadway",
    "2nd St Apt 4",
    "Elm Court",
    "Martin Way",
    "Rue Verte",
    "Ringstraße",
)
MAIL_HOSTS = ("example.org", "example.net", "example.com", "mail.example.org")
LANGUAGES = ("en", "es", "fr", "de", "ar", "he", "zh", "vi")

GROUPS = (
    *("Riverside Tenants Union", "Clean Water Now", "Neighbours for Transit", "Youth Climate Circle"),
    *("Library Friends", "Workers' Rights Network", "Réseau Québec Vert", "حركة العدالة", "市民の会 🌱"),
)
REFERRERS = tuple(f"group-{name.lower().replace(' ', '-')}" for name in GROUPS)  # the groups' own codes
CAUSES = (
    *("clean water", "safe streets", "affordable housing", "public libraries", "fair wages", "better buses"),
    *("school lunches", "the old forest", "a free internet", "clinics in every county"),
)


class Campaign(NamedTuple):
    """An event campaign: its title without the year, and the cause of its events."""

    title: str
    cause: str


CAMPAIGNS = (
    Campaign("Clean Water Week of Action", "clean water"),
    Campaign("Safe Streets Saturdays", "safe streets"),
    Campaign("Homes for All: Summer Canvass", "affordable housing"),
    Campaign("Keep Our Libraries Open", "public libraries"),
    Campaign("Fair Wages Rally Tour", "fair wages"),
    Campaign("Buses That Come: Riders Meet", "better buses"),
    Campaign("Lunch for Every Child", "school lunches"),
    Campaign("Walks for the Old Forest", "the old forest"),
    Campaign("A Free Internet: Teach-ins", "a free internet"),
    Campaign("A Clinic in Every County", "clinics in every county"),
    Campaign("Marche pour l'eau propre", "clean water"),
    Campaign("Tenants' Assembly Season", "affordable housing"),
    Campaign("Youth Climate Strike", "the old forest"),
    Campaign("Town Halls on Transit", "better buses"),
    Campaign("May Day Marches", "fair wages"),
    Campaign("Read-ins at the Library", "public libraries"),
    Campaign("Semana del agua limpia", "clean water"),
    Campaign("Back to School: Safe Crossings", "safe streets"),
)
# What petitions ask for, by the name of a town.
DEMANDS = (
    *("Keep the libraries of {} open on Sundays", "Stop the rent increases in {}", "Clean tap water for {}"),
    *("Protected bike lanes for {}", "Free lunches in the schools of {}", "More night buses for {}"),
    *("A living wage for the city workers of {}", "Save the old trees of {}", "Public broadband for {}"),
    "Reopen the walk-in clinic of {}",
)
GATHERINGS = (
    "March for",
    "Phone bank for",
    "Canvass for",
    "Town hall on",
    "Teach-in:",
    "Rally for",
    "Picnic for",
)
VENUES = ("City Hall", "Central Library", "Union Hall", "Riverside Park", "Zion Church", "Café Einheit")
ORIGINS = ("CRM Sync", "Phone Bank Tool", "Volunteer Calendar")

# Labels that are text and nothing else, and that something downstream takes for more.
HOSTILE = (
    '<script>alert("title")</script> & <b>bold</b>',
    r"$\bad{",
    '=HYPERLINK("https://trap.example.com/","Free tickets")',
    "+1",
    "-1",
    "@everyone",
    "\ta leading tab",
    "مسيرة من أجل الماء النظيف",
    "Save the bees 🐝👩🏽‍🌾🇺🇳",
    "为了清洁的水 きれいな水のために",
    "Cafe\u0301 Zu\u0308rich – combining",
    "A very long title: " + "water, housing and buses for all, " * 5 + "and libraries.",
)

SOURCES = (
    *("facebook", "email-2026_03_launch", "twitter", "homepage", "email-2025-12-appeal", "sms", "whatsapp"),
    *("thankyou_page", "partner-newsletter", "instagram", "qr_flyer", "email_2025_12_appeal", "bluesky"),
    *(
        "=1+1",
        "$\\bad{",
        "<i>ad</i>",
        "حملة",
        "推特",
        "+1",
        "-1",
        "@ads",
        "\tsms",
        "utm-" + "long-" * 39 + "!",
    ),
)
WEBSITES = (
    *(
        "www.example.org",
        "social.example.com",
        "news.example.net",
        "https://blog.example.net/2026/03/water?ref=1",
    ),
    *("search.example.com", "https://www.example.org/", "forum.example.net", "bücher.example.org"),
)
TAGS = (
    *("volunteer", "donor-prospect", "2026 launch", "water", "housing", "tenant", "estudiante", "climat"),
    *("水", "<b>vip</b>", "=tag", "needs follow-up", "متطوع", "🐝"),
)
CUSTOM_FIELDS = {
    "Phone_Consent": ("1", "0", ""),
    "How did you hear about us?": ("A friend", "Flyer", "On the bus", "ラジオ"),
    "union_member": ("yes", "no", "not yet"),
    "t-shirt": ("S", "M", "L", "XL"),
    "année": ("2024", "2025", "2026"),
    "note": ("=SUM(A1:A9)", "line one\nline two", 'she said "yes"', "<br>"),
}
COMMENTS = (
    "I have lived here for thirty years and have never seen the river this low.",
    "Please act now, for our children.",
    "Our building has had no heat since November. We pay the rent on time; the owner does not keep the law.",
    "Count me in!",
    "My students walk past this corner every morning. A crossing would cost less than one ambulance.",
    "Este tema nos afecta a todos. ¡Gracias por organizar!",
    "Ich unterschreibe, weil Wasser ein Menschenrecht ist.",
    "الماء حق للجميع",
    "水は命です。",
    "👏👏🏽👏🏿 thank you",
    "Two lines\r\nof text, and a separator\u2028that is no line break in JSON lines",
    '"Quoted", with a comma, a backslash \\ and a {brace}',
    *HOSTILE[:7],
)
