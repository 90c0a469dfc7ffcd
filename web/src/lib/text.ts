// Entities of HTML in Markdown text, as letters.

const NAMED: Record<string, string> = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", reg: "®", hellip: "…", mdash: "—",
  ndash: "–", larr: "←", rarr: "→", uarr: "↑", darr: "↓", times: "×", middot: "·", bull: "•", deg: "°", le: "≤", ge: "≥",
  ne: "≠", laquo: "«", raquo: "»", ldquo: "“", rdquo: "”", lsquo: "‘", rsquo: "’", euro: "€", trade: "™", sect: "§",
};

export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z][a-z0-9]{1,30}));/gi, (whole, hex, dec, name) => {
    if (name) return NAMED[name] ?? whole;
    const code = hex ? parseInt(hex, 16) : Number(dec);
    if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return "\ufffd";
    return String.fromCodePoint(code);
  });
}

const SAFE_LINK = /^(https?:|mailto:)/i;

/** An address that a link may lead to, or null. Relative ones lead nowhere here. */
export function safeHref(href: string): string | null {
  // Browsers drop white space and control characters within a scheme.
  const bare = decodeEntities(href).replace(/[\u0000-\u0020\u007f-\u009f]/g, "");
  if (!SAFE_LINK.test(bare)) return null;
  try {
    const url = new URL(bare);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
