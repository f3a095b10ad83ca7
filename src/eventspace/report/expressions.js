// Events written as text, Toy Story & ~(Heat | "Alien (1979)"): the language of Python's model.query.

const PRECEDENCE = { "|": 1, "^": 2, "&": 3, "-": 4, "~": 5 }; // the higher binds tighter
const BINARY = {
  "|": ([a, b], [c, d]) => [a | c, b | d],
  "^": ([a, b], [c, d]) => [a ^ c, b ^ d],
  "&": ([a, b], [c, d]) => [a & c, b & d],
  "-": ([a, b], [c, d]) => [a & ~c, b & ~d],
};
// as Python has it
const BLANK = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const LETTER = `[^${BLANK}~\\-&^|()"']`; // what may stand anywhere in a name without quotes
const TOKEN = new RegExp(
  [
    String.raw`(?<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')`,
    `(?<bare>${LETTER}+(?:${[
      `${LETTER}+|'`, // Schindler's
      `[${BLANK}]+(?=${LETTER})`, // Toy Story
      `-+(?=[${BLANK}]*${LETTER})`, // Spider-Man
      `[${BLANK}]+-+(?=${LETTER})`,
    ].join("|")})*)`,
    String.raw`(?<symbol>[~\-&^|()])`,
    `(?<stray>["'])`,
  ].join("|"),
  "gsu",
);

/** What is wrong with an expression, and at which place of it. */
class ExpressionError extends Error {
  constructor(problem, text, place) {
    super(`At character ${[...text.slice(0, place)].length + 1}: ${problem}`);
    this.place = place;
  }
}

function* tokens(text) {
  for (const match of text.matchAll(TOKEN)) {
    const { quoted, bare, symbol, stray } = match.groups;
    if (stray) throw new ExpressionError("this quote is never closed.", text, match.index);
    const name = quoted === undefined ? bare : quoted.slice(1, -1).replace(/\\(["'\\])/g, "$1");
    yield { isName: symbol === undefined, text: symbol ?? name, bare: bare !== undefined, place: match.index };
  }
  yield { isName: false, text: "", isEnd: true, place: text.replace(new RegExp(`[${BLANK}]+$`, "u"), "").length };
}

const endsOperand = (token) => token !== undefined && (token.isName || token.text === ")");

function operandMissing(last, found) {
  if (last) {
    const twice = last.text === found.text && "&|".includes(last.text) ? ` One ${last.text} is enough.` : "";
    return `expected an item or "(" after "${last.text}".${twice}`;
  }
  return found.isEnd ? "the expression is empty." : 'expected an item or "(" at the beginning.';
}

function operatorMissing(text, last, found) {
  let problem = "expected one of & | ^ - before this";
  if (found.isName && /^((and|or|not)\b|!)/u.test(found.text)) problem += '; for "and", "or", "not" write & | ~';
  if (last.bare && text[found.place] === "(") {
    const closed = text.indexOf(")", found.place) + 1 || text.length;
    problem += `; a "(" in a title needs quotes: "${text.slice(last.place, Math.min(closed, last.place + 100))}"`;
  }
  return `${problem}.`;
}

/** The names and operators of an expression, each operator behind what it applies to. */
function postfix(text) {
  const [done, waiting] = [[], []];
  let last;
  for (const token of tokens(text)) {
    if (token.isName || token.text === "~" || token.text === "(") {
      if (endsOperand(last)) throw new ExpressionError(operatorMissing(text, last, token), text, token.place);
      (token.isName ? done : waiting).push(token);
    } else if (!endsOperand(last)) {
      throw new ExpressionError(operandMissing(last, token), text, token.place);
    } else {
      // an operator waits for those that bind as tight; ")" and the end, for all but "("
      const binds = PRECEDENCE[token.text] ?? 1;
      while (waiting.length && (PRECEDENCE[waiting.at(-1).text] ?? 0) >= binds) done.push(waiting.pop());
      if (token.text in BINARY) waiting.push(token);
      else if (token.isEnd && waiting.length)
        throw new ExpressionError('this "(" is never closed.', text, waiting.at(-1).place);
      else if (token.text === ")" && !waiting.length)
        throw new ExpressionError('this ")" was never opened.', text, token.place);
      else if (token.text === ")") waiting.pop();
    }
    last = token;
  }
  return done;
}

let called; // items by name; of two with one name, the better known
const itemCalled = (text) => (called ??= new Map(space.names.map((n, i) => [n, i]).reverse())).get(text);

/** The items that a misspelt name may mean, or how to write what it seems to mean. */
function meant(text) {
  if (/\b(and|or|not)\b|!/u.test(text)) return '. For "and", "or", "not" write & | ~.';
  if (/[<>=]/.test(text)) return ". What an item implies stands on its own page.";
  if (text.includes("-") && text.split("-").some((part) => itemCalled(part.trim()) !== undefined))
    return ". A minus needs a space on either side.";
  const near = alike(text, 3).map((i) => `“${space.names[i]}”`);
  return near.length ? `: did you mean ${near.join(" or ")}?` : ".";
}

/** The set of events that an expression describes, as two words. */
function setOf(text) {
  const values = [];
  for (const token of postfix(text)) {
    if (token.isName) {
      const item = itemCalled(token.text);
      if (item === undefined)
        throw new ExpressionError(`the page knows no item “${token.text}”${meant(token.text)}`, text, token.place);
      values.push([space.low[space.classOf[item]], space.high[space.classOf[item]]]);
    } else if (token.text === "~") values.push(BINARY["-"](occurring, values.pop()));
    else {
      const right = values.pop();
      values.push(BINARY[token.text](values.pop(), right));
    }
  }
  return values.pop();
}

/** How likely a set of events is under a PMF; null where the PMF knows only events that never occurred. */
function probabilityIn(set, pmf) {
  const within = (code) => sum(pmf.map((m, d) => (bit(...code, d) ? m : 0)));
  const whole = within(occurring);
  return whole > 0 ? within(set) / whole : null;
}

/** An item's name as it is written in an expression. */
const written = (i) => {
  const text = space.names[i];
  return /^[\p{L}\p{N}_]+([-.'][\p{L}\p{N}_]+)*$/u.test(text) ? text : `"${text.replace(/(["\\])/g, "\\$1")}"`;
};
