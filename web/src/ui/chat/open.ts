// Which rows are unfolded. It outlives the drawing of a row, because rows out of sight are not drawn.

import { useState } from "preact/hooks";

const opened = new Map<string, boolean>();
const MAX = 5000;

export function useOpen(key: string, usual: boolean): [boolean, () => void] {
  const [, redraw] = useState(0);
  const open = opened.get(key) ?? usual;
  const toggle = () => {
    if (opened.size > MAX) opened.clear();
    opened.set(key, !open);
    redraw((n) => n + 1);
  };
  return [open, toggle];
}
