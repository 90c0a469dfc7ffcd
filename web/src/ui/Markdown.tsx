// Markdown as elements. No HTML is ever parsed: tags in the text are letters, pictures are links, and a link leads to the web
// or nowhere.

import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { read, type Reading, type Token, type Tokens } from "../lib/markdown";
import { decodeEntities, safeHref } from "../lib/text";
import { useWords } from "../state/app";
import { Code } from "./Code";

export function Markdown({ text }: { text: string }) {
  const before = useRef<Reading | undefined>(undefined);
  const tokens = useMemo(() => {
    before.current = read(text, before.current);
    return before.current.tokens;
  }, [text]);
  return <div class="md">{blocks(tokens)}</div>;
}

/** For the tests, which look at the elements without drawing them. */
export function blocksForTest(tokens: Token[]): ComponentChildren {
  return blocks(tokens);
}

function blocks(tokens: Token[]): ComponentChildren {
  return tokens.map((token, at) => <Block key={`${at}${token.type}`} token={token} />);
}

function Block({ token }: { token: Token }) {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return heading(token as Tokens.Heading);
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    case "code":
      return <Code text={(token as Tokens.Code).text} lang={(token as Tokens.Code).lang ?? ""} copy />;
    case "blockquote":
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case "list":
      return list(token as Tokens.List);
    case "table":
      return <TableBlock token={token as Tokens.Table} />;
    case "hr":
      return <hr />;
    case "html":
      return <p class="raw">{token.raw.trimEnd()}</p>;
    case "checkbox":
    case "text":
      return "tokens" in token && token.tokens ? <>{inline(token.tokens)}</> : <>{inline([token])}</>;
    default:
      return <p>{token.raw}</p>;
  }
}

/** The page has headings of its own above those of an answer. */
function heading(token: Tokens.Heading) {
  const Tag = `h${Math.min(6, token.depth + 1)}` as "h2" | "h3" | "h4" | "h5" | "h6";
  return <Tag class={`h-${token.depth}`}>{inline(token.tokens)}</Tag>;
}

function list(token: Tokens.List) {
  const items = token.items.map((item, at) => (
    <li key={at} class={item.task ? "task" : undefined}>
      {item.task && !item.tokens.some((t) => t.type === "checkbox" || inner(t).some((i) => i.type === "checkbox")) ? box(item.checked === true) : null}
      {blocks(item.tokens)}
    </li>
  ));
  const start = typeof token.start === "number" && token.start !== 1 ? token.start : undefined;
  return token.ordered ? <ol start={start}>{items}</ol> : <ul>{items}</ul>;
}

function inner(token: Token): Token[] {
  return "tokens" in token && token.tokens ? token.tokens : [];
}

function box(checked: boolean) {
  return <span class="check" role="img" aria-label={checked ? "☑" : "☐"}>{checked ? "☑ " : "☐ "}</span>;
}

function TableBlock({ token }: { token: Tokens.Table }) {
  const words = useWords();
  const align = (at: number) => (token.align[at] ? `to-${token.align[at]}` : undefined);
  return (
    <div class="scroll-x" tabIndex={0} role="group" aria-label={words.table}>
      <table>
        <thead>
          <tr>{token.header.map((cell, at) => <th key={at} scope="col" class={align(at)}>{inline(cell.tokens)}</th>)}</tr>
        </thead>
        <tbody>
          {token.rows.slice(0, MAX_ROWS).map((row, n) => (
            <tr key={n}>{row.map((cell, at) => <td key={at} class={align(at)}>{inline(cell.tokens)}</td>)}</tr>
          ))}
        </tbody>
      </table>
      {token.rows.length > MAX_ROWS ? <p class="faint">+ {token.rows.length - MAX_ROWS}</p> : null}
    </div>
  );
}

/** Rows of a table that are drawn. */
const MAX_ROWS = 200;

function inline(tokens: Token[] | undefined): ComponentChildren {
  return (tokens ?? []).map((token, at) => <Inline key={at} token={token} />);
}

function Inline({ token }: { token: Token }) {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link":
      return link(token as Tokens.Link);
    case "image":
      return picture(token as Tokens.Image);
    case "checkbox":
      return box((token as { checked?: boolean }).checked === true);
    case "html":
      return <>{token.raw}</>;
    case "text":
      return "tokens" in token && token.tokens ? <>{inline(token.tokens)}</> : <>{decodeEntities((token as Tokens.Text).text)}</>;
    case "escape":
      return <>{decodeEntities((token as Tokens.Escape).text)}</>;
    default:
      return <>{token.raw}</>;
  }
}

function link(token: Tokens.Link) {
  const href = safeHref(token.href);
  if (href === null) return <span class="dead-link" title={token.href}>{inline(token.tokens)}</span>;
  return <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow">{inline(token.tokens)}</a>;
}

/** A picture from elsewhere would tell others that somebody reads this. */
function picture(token: Tokens.Image) {
  const href = safeHref(token.href);
  const label = `🖼 ${decodeEntities(token.text) || "image"}`;
  if (href === null) return <span class="dead-link" title={token.href}>{label}</span>;
  return <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow">{label}</a>;
}
