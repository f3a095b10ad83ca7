// The probability space: sets as bits, their masses, the order of the items, predictions.

const data = JSON.parse(document.getElementById("data").textContent);
const PMF_UNIT = 1e8;

const space = {
  nEvents: data.events.mass.length,
  nItems: data.items.name.length,
  nClasses: data.items.codes.length,
  names: data.items.name,
  ratings: data.items.ratings,
  classOf: Int32Array.from(data.items.class),
  low: new Uint32Array(data.items.codes.length), // events 0 to 31 of each class's set
  high: new Uint32Array(data.items.codes.length), // and 32 to 63
  mass: data.events.mass,
};

const words = (code) => [
  parseInt(code.slice(-8), 16) >>> 0,
  code.length > 8 ? parseInt(code.slice(0, -8), 16) >>> 0 : 0,
];
data.items.codes.forEach((code, c) => ([space.low[c], space.high[c]] = words(code)));
const occurring = words(data.events.occurring);
const beyond = data.items.beyond.map(words); // of each item's set, the events that never occurred

// members of class c: memberItems[memberStart[c]] .. memberItems[memberStart[c + 1] - 1], best known first
const memberStart = new Int32Array(space.nClasses + 1);
for (const c of space.classOf) memberStart[c + 1] += 1;
for (let c = 0; c < space.nClasses; c += 1) memberStart[c + 1] += memberStart[c];
const memberItems = new Int32Array(space.nItems);
{
  const next = memberStart.slice();
  space.classOf.forEach((c, i) => (memberItems[next[c]++] = i));
}
const members = (c) => memberItems.subarray(memberStart[c], memberStart[c + 1]);
const sizeOf = (c) => memberStart[c + 1] - memberStart[c];
const headOf = (c) => memberItems[memberStart[c]]; // stands for the class

const bit = (low, high, d) => ((d < 32 ? low >>> d : high >>> (d - 32)) & 1) === 1;
const hasEvent = (c, d) => bit(space.low[c], space.high[c], d);
const comesTrue = (i, d) => hasEvent(space.classOf[i], d) || (beyond.length > 0 && bit(...beyond[i], d));
const eventsOf = (c) => space.mass.map((_, d) => d).filter((d) => hasEvent(c, d));
const inside = (a, b) =>
  (space.low[a] & ~space.low[b]) === 0 && (space.high[a] & ~space.high[b]) === 0;

/** The mass of each class's set under a PMF, events added in one order. */
function massesUnder(pmf) {
  const total = new Float64Array(space.nClasses);
  pmf.forEach((m, d) => {
    if (m > 0) for (let c = 0; c < total.length; c += 1) if (hasEvent(c, d)) total[c] += m;
  });
  return total;
}
space.probability = massesUnder(space.mass);

/** The chance of each item under a PMF. Only someone new may give mass to an event that never occurred. */
function chancesUnder(pmf) {
  const masses = massesUnder(pmf);
  const more = (i) => sum(pmf.filter((m, d) => m > 0 && bit(...beyond[i], d)));
  return (i) => masses[space.classOf[i]] + (beyond.length ? more(i) : 0);
}
const probabilityOf = (i) => space.probability[space.classOf[i]];

/** Whether a set says something: it is neither empty nor everything. */
const telling = (c) =>
  (space.low[c] | space.high[c]) !== 0 &&
  !(space.low[c] === occurring[0] && space.high[c] === occurring[1]);

const everyItem = Array.from({ length: space.nItems }, (_, i) => i);

// Classes are numbered so that none comes before one that it contains.
const everyClass = Int32Array.from({ length: space.nClasses }, (_, c) => c);

/** The classes with an item of at least this many ratings, as model.order(min_evidence) has them. */
const classesWith = (leastRatings) =>
  leastRatings <= 1 ? everyClass : everyClass.filter((c) => space.ratings[headOf(c)] >= leastRatings);

/** Of some classes those right above (or below) a class: no third of them lies between. */
function neighbours(c, among, above) {
  const found = [];
  const step = above ? 1 : -1;
  const within = (a, b) => (above ? inside(a, b) : inside(b, a));
  for (let k = above ? 0 : among.length - 1; k >= 0 && k < among.length; k += step) {
    const other = among[k];
    if (other !== c && within(c, other) && !found.some((f) => within(f, other))) found.push(other);
  }
  return found;
}

/** The Hasse diagram of some classes: [lower, upper] where no third of them lies between. */
const hasse = (among) =>
  Array.from(among).flatMap((c) => neighbours(c, among, true).map((upper) => [c, upper]));

/** The items that an item implies (or that imply it), the closest in probability first. */
function related(item, above) {
  const c = space.classOf[item];
  const found = [];
  for (let other = 0; other < space.nClasses; other += 1)
    if (above ? inside(c, other) : inside(other, c)) for (const i of members(other)) if (i !== item) found.push(i);
  const distance = (i) => Math.abs(probabilityOf(i) - probabilityOf(item));
  return found.sort((a, b) => distance(a) - distance(b) || space.ratings[b] - space.ratings[a] || a - b);
}

const [scaleLow, scaleHigh] = data.scale;
const ownUnit = scaleLow !== 0 || scaleHigh !== 1;
const middle = (scaleLow + scaleHigh) / 2;
const inUnit = (p) => short(scaleLow + p * (scaleHigh - scaleLow));

/** A user of the page, as a person: a distribution over the events, and ratings by item. */
function personOf(user) {
  const values = data.users.values[user];
  return {
    title: `User ${data.users.name[user]}`, called: "the user", has: "the user has", at: String(user),
    pmf: data.users.pmf[user].map((m) => m / PMF_UNIT),
    ratings: new Map(data.users.items[user].map((item, k) => [item, values[k]])),
    count: data.users.ratings[user], // of all items, on this page or not
  };
}

/** Why a prediction is what it is: the masses of the events, the rules to what the person has rated. */
function explain({ pmf, ratings }, item) {
  const c = space.classOf[item];
  const chance = chancesUnder(pmf);
  const order = pmf.map((_, d) => d).sort((a, b) => pmf[b] - pmf[a] || a - b);
  const distance = (other) => Math.abs(space.probability[c] - space.probability[other]); // one is inside the other
  const rules = [];
  for (const [other, value] of ratings) {
    const at = space.classOf[other];
    const [below, above] = [inside(at, c), inside(c, at)];
    if (other === item || !telling(at) || !(below || above)) continue;
    const kind = below && above ? 0 : below ? 1 : 2;
    const speaks = value > middle && below ? "for" : value < middle && above ? "against" : "";
    rules.push({ other, value, kind, speaks, probability: chance(other), distance: distance(at) });
  }
  rules.sort(
    (a, b) => a.kind - b.kind || a.distance - b.distance || space.ratings[b.other] - space.ratings[a.other],
  );
  return {
    probability: chance(item),
    population: space.probability[c],
    comesTrue: order.filter((d) => comesTrue(item, d)).map((d) => [d, pmf[d]]),
    doesNot: order.filter((d) => !comesTrue(item, d)).map((d) => [d, pmf[d]]),
    rules,
    own: ratings.get(item),
  };
}
