// Highlighted code as spans with classes. The library and its languages are loaded when the first piece of code is seen.

export interface Piece {
  text: string;
  scope: string;
}

interface Node {
  scope?: string;
  children: (Node | string)[];
}

interface Highlighter {
  pieces(text: string, lang: string): Piece[] | null;
}

/** Characters that are highlighted; more is plain. */
const MAX = 60_000;

let loading: Promise<Highlighter> | null = null;
let ready: Highlighter | null = null;

export function loaded(): Highlighter | null {
  return ready;
}

export function load(): Promise<Highlighter> {
  loading ??= import("./languages").then(({ hljs }) => {
    ready = {
      pieces(text, lang) {
        const name = language(lang);
        if (!name || !hljs.getLanguage(name) || text.length > MAX) return null;
        const result = hljs.highlight(text, { language: name, ignoreIllegals: true });
        const root = (result as unknown as { _emitter: { rootNode: Node } })._emitter.rootNode;
        return flatten(root);
      },
    };
    return ready;
  });
  return loading;
}

function flatten(root: Node): Piece[] {
  const out: Piece[] = [];
  const walk = (node: Node, scope: string): void => {
    for (const child of node.children) {
      if (typeof child !== "string") walk(child, child.scope ?? scope);
      else if (out.at(-1)?.scope === scope) out.at(-1)!.text += child;
      else out.push({ text: child, scope });
    }
  };
  walk(root, "");
  return out;
}

const BY_ENDING: Record<string, string> = {
  rs: "rust", py: "python", js: "javascript", mjs: "javascript", cjs: "javascript", jsx: "javascript", ts: "typescript",
  tsx: "typescript", mts: "typescript", go: "go", c: "cpp", h: "cpp", cc: "cpp", cpp: "cpp", hpp: "cpp", java: "java",
  sh: "bash", bash: "bash", zsh: "bash", json: "json", jsonl: "json", yml: "yaml", yaml: "yaml", toml: "ini", ini: "ini",
  md: "markdown", css: "css", html: "xml", xml: "xml", svg: "xml", sql: "sql", diff: "diff", patch: "diff",
};
const OTHER_NAMES: Record<string, string> = {
  shell: "bash", console: "bash", "c++": "cpp", golang: "go", typescript: "typescript", node: "javascript",
};

function language(lang: string): string {
  const bare = lang.toLowerCase().split(/[\s,{]/)[0] ?? "";
  return OTHER_NAMES[bare] ?? BY_ENDING[bare] ?? bare;
}

/** The language of a file, by its name. */
export function languageOf(path: string): string {
  const name = path.split("/").at(-1)?.toLowerCase() ?? "";
  if (name === "makefile" || name === "dockerfile") return "bash";
  return BY_ENDING[name.split(".").at(-1) ?? ""] ?? "";
}

const CLASSES: Record<string, string> = {
  keyword: "k", built_in: "b", type: "t", literal: "l", number: "l", string: "s", regexp: "s", comment: "c", doctag: "c",
  title: "f", "title.function": "f", "title.class": "t", attr: "a", attribute: "a", variable: "v", symbol: "l", meta: "m",
  addition: "s", deletion: "x", section: "f", name: "k", tag: "k", params: "", property: "a", bullet: "l", code: "s", link: "s",
};

export function scopeClass(scope: string): string {
  return CLASSES[scope] ?? CLASSES[scope.split(".")[0] ?? ""] ?? "";
}
