// A piece of code, highlighted as soon as the highlighter is there. Its size does not change by that.

import { useEffect, useMemo, useState } from "preact/hooks";
import { load, loaded, scopeClass } from "../lib/highlight";
import { useWords } from "../state/app";
import { CopyButton } from "./parts";

interface Props {
  text: string;
  lang: string;
  copy?: boolean;
}

export function Code({ text, lang, copy }: Props) {
  const words = useWords();
  const body = text.replace(/\n$/, "");
  return (
    <div class="code">
      {copy ? (
        <div class="code-bar">
          <span>{lang.split(/\s/)[0]}</span>
          <CopyButton text={body} />
        </div>
      ) : null}
      <pre tabIndex={0} role="group" aria-label={words.code(lang)}>
        <code><Colored text={body} lang={lang} /></code>
      </pre>
    </div>
  );
}

/** Only the letters and their colours. */
export function Colored({ text, lang }: { text: string; lang: string }) {
  const [engine, setEngine] = useState(loaded);
  useEffect(() => {
    if (engine || !lang) return;
    let here = true;
    load().then((made) => here && setEngine(made), () => {});
    return () => {
      here = false;
    };
  }, [engine, lang]);
  const pieces = useMemo(() => (lang ? engine?.pieces(text, lang) : null) ?? null, [engine, text, lang]);
  if (!pieces) return <>{text}</>;
  return (
    <>
      {pieces.map((piece, at) => {
        const name = scopeClass(piece.scope);
        return name ? <span key={at} class={`hl-${name}`}>{piece.text}</span> : piece.text;
      })}
    </>
  );
}
