// Markdown as tokens. The text is cleaned first; a text that grows is read again only from its last blocks on.

import { lexer, type Token, type Tokens } from "marked";
import { clean } from "./clean";

export type { Token, Tokens };

/** Bytes of a text that are read as Markdown; what follows is shown as it is. */
export const MAX_MARKDOWN = 400_000;
/** A line this long is no prose. */
const MAX_LINE = 100_000;
/** Quotes and lists within each other, deeper than a page can draw. */
const DEEP = /^[ \t]*(?:> ?|(?:[-*+]|\d{1,3}[.)])[ \t]){50,}/m;

export interface Reading {
  text: string;
  tokens: Token[];
}

export function read(text: string, before?: Reading): Reading {
  const safe = clean(text).slice(0, MAX_MARKDOWN);
  if (before && before.text === safe) return before;
  if (before && before.tokens.length > 3 && safe.startsWith(before.text)) {
    const keep = before.tokens.slice(0, -2);
    const length = keep.reduce((sum, token) => sum + token.raw.length, 0);
    // Only where the tokens are the text, letter by letter, can it be cut there.
    if (keep.map((token) => token.raw).join("") === safe.slice(0, length)) {
      return { text: safe, tokens: [...keep, ...lex(safe.slice(length))] };
    }
  }
  return { text: safe, tokens: lex(safe) };
}

function lex(text: string): Token[] {
  if (isHard(text)) return [{ type: "code", raw: text, text, lang: "" } as Token];
  try {
    return lexer(text, { gfm: true });
  } catch {
    return [{ type: "code", raw: text, text, lang: "" } as Token];
  }
}

/** Texts that are shown as they are. */
function isHard(text: string): boolean {
  return DEEP.test(text) || text.split("\n").some((line) => line.length > MAX_LINE);
}

/** The text without its marks, for titles and screen readers. */
export function plain(tokens: Token[]): string {
  const out: string[] = [];
  const walk = (token: Token): void => {
    if ("tokens" in token && token.tokens) token.tokens.forEach(walk);
    else if (token.type === "list") (token as Tokens.List).items.forEach(walk);
    else if (token.type === "space" || token.type === "br") out.push(" ");
    else if ("text" in token && typeof token.text === "string") out.push(token.text);
    if (["paragraph", "heading", "list_item", "code"].includes(token.type)) out.push(" ");
  };
  tokens.forEach(walk);
  return out.join("").replace(/\s+/g, " ").trim();
}
