// A list of rows of unknown height of which only those in sight are drawn. What is read stays where it is, whatever is added
// above, below or within; at the end the list follows the end.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef } from "preact/hooks";

export interface ListItem {
  key: string;
  /** Height before it was seen. */
  guess: number;
}

export interface ListHandle {
  toEnd(): void;
}

interface Props<T extends ListItem> {
  items: T[];
  draw: (item: T) => ComponentChildren;
  label: string;
  /** The beginning comes into sight. */
  onTop?: () => void;
  /** Whether the end is in sight, and how many rows came since it was. */
  onEnd?: (atEnd: boolean, unseen: number) => void;
  handle?: { current: ListHandle | null };
  head?: ComponentChildren;
  foot?: ComponentChildren;
}

/** Pixels beyond the window that are drawn as well. */
const OVERSCAN = 700;
const NEAR_END = 24;
const NEAR_TOP = 900;

interface State {
  heights: Map<string, number>;
  tops: Float64Array;
  items: ListItem[];
  atEnd: boolean;
  anchor: { key: string; offset: number } | null;
  lastTop: number;
  lastSeen: string;
  told: string;
  /** A height became known while drawing. */
  dirty: boolean;
}

function layout(items: ListItem[], heights: Map<string, number>): Float64Array {
  const tops = new Float64Array(items.length + 1);
  for (let at = 0; at < items.length; at++) tops[at + 1] = tops[at]! + (heights.get(items[at]!.key) ?? items[at]!.guess);
  return tops;
}

/** The row that a height lies in. */
function rowAt(tops: Float64Array, y: number): number {
  let [low, high] = [0, tops.length - 2];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tops[middle]! <= y) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}

export function VirtualList<T extends ListItem>(props: Props<T>) {
  const { items } = props;
  const box = useRef<HTMLDivElement>(null);
  const head = useRef<HTMLDivElement>(null);
  const state = useRef<State>({ heights: new Map(), tops: new Float64Array(1), items: [], atEnd: true, anchor: null, lastTop: 0, lastSeen: "", told: "", dirty: false });
  const [version, redraw] = useReducer((n: number) => n + 1, 0);
  const s = state.current;
  const tops = useMemo(() => layout(items, s.heights), [items, version]);
  const view = box.current?.clientHeight ?? (typeof innerHeight === "number" ? innerHeight : 800);
  const total = tops[items.length]!;
  const from = s.atEnd ? Math.max(0, total - view) : anchoredTop(s, items, tops);
  const first = Math.max(0, rowAt(tops, from - OVERSCAN));
  const last = Math.min(items.length, rowAt(tops, from + view + OVERSCAN) + 1);
  const observer = useRowObserver(s, box, redraw);

  useLayoutEffect(() => {
    const scroller = box.current!;
    const headHeight = head.current?.offsetHeight ?? 0;
    // Scrolled, and the event is still on its way.
    if (!s.atEnd && Math.abs(scroller.scrollTop - s.lastTop) > 1 && s.items.length > 0) remember(s, scroller.scrollTop - headHeight);
    s.items = items;
    s.tops = tops;
    if (s.atEnd) {
      scroller.scrollTop = scroller.scrollHeight;
      s.lastSeen = items.at(-1)?.key ?? "";
    } else {
      const want = anchoredTop(s, items, tops) + headHeight;
      if (Math.abs(want - scroller.scrollTop) > 1) scroller.scrollTop = want;
    }
    s.lastTop = scroller.scrollTop;
    tell(s, props);
    if (s.dirty) {
      s.dirty = false;
      redraw(0);
    }
  });

  const onScroll = () => {
    const scroller = box.current!;
    const top = scroller.scrollTop;
    const end = scroller.scrollHeight - scroller.clientHeight - top;
    const wasAtEnd = s.atEnd;
    if (end <= NEAR_END) s.atEnd = true;
    else if (top < s.lastTop - 1) s.atEnd = false;
    else if (!wasAtEnd) s.atEnd = false;
    s.lastTop = top;
    remember(s, top - (head.current?.offsetHeight ?? 0));
    if (top < NEAR_TOP) props.onTop?.();
    redraw(0);
  };

  useEffect(() => {
    if (!props.handle) return;
    props.handle.current = {
      toEnd() {
        s.atEnd = true;
        redraw(0);
      },
    };
  }, []);
  useEffect(() => {
    const watch = new ResizeObserver(() => redraw(0));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  // A short list has its beginning in sight.
  useEffect(() => {
    if (total < view + NEAR_TOP / 3) props.onTop?.();
  }, [items.length > 0, total < view]);

  return (
    <div class="vlist" ref={box} onScroll={onScroll} tabIndex={0} role="log" aria-live="off" aria-label={props.label}>
      <div ref={head}>{props.head}</div>
      <div class="vlist-pad" style={{ height: `${tops[first] ?? 0}px` }} />
      {items.slice(first, last).map((item) => (
        <div class="vrow" key={item.key} data-key={item.key} ref={observer}>{props.draw(item)}</div>
      ))}
      <div class="vlist-pad" style={{ height: `${total - (tops[last] ?? total)}px` }} />
      {props.foot}
    </div>
  );
}

function useRowObserver(s: State, box: { current: HTMLDivElement | null }, redraw: (n: number) => void) {
  const made = useRef<{ watch: ResizeObserver; ref: (element: HTMLDivElement | null) => void } | undefined>(undefined);
  if (!made.current && typeof ResizeObserver !== "undefined") {
    const watch = new ResizeObserver((changes) => {
      let changed = false;
      for (const change of changes) {
        const element = change.target as HTMLElement;
        if (!element.isConnected) {
          watch.unobserve(element);
          continue;
        }
        const height = element.getBoundingClientRect().height;
        const key = element.dataset.key!;
        if (height > 0 && Math.abs((s.heights.get(key) ?? -1) - height) > 0.5) {
          s.heights.set(key, height);
          changed = true;
        }
      }
      if (changed) redraw(0);
    });
    const seen = (element: HTMLDivElement | null) => {
      if (!element) return;
      watch.observe(element);
      // Known at once, so that the first picture is right.
      const height = element.getBoundingClientRect().height;
      const key = element.dataset.key!;
      if (height > 0 && Math.abs((s.heights.get(key) ?? -1) - height) > 0.5) {
        s.heights.set(key, height);
        s.dirty = true;
      }
    };
    made.current = { watch, ref: seen };
  }
  useEffect(() => () => made.current?.watch.disconnect(), [box]);
  return made.current?.ref;
}

/** Where the row that is read begins now. */
function anchoredTop(s: State, items: ListItem[], tops: Float64Array): number {
  if (!s.anchor) return 0;
  const { key, offset } = s.anchor;
  const at = items.findIndex((item) => item.key === key);
  return at < 0 ? Math.max(0, s.lastTop) : tops[at]! + offset;
}

function remember(s: State, top: number): void {
  if (s.items.length === 0) return;
  const at = rowAt(s.tops, top);
  s.anchor = { key: s.items[at]!.key, offset: top - s.tops[at]! };
}

function tell<T extends ListItem>(s: State, props: Props<T>): void {
  const at = s.atEnd ? -1 : props.items.findLastIndex((item) => item.key === s.lastSeen);
  const unseen = s.atEnd ? 0 : at < 0 ? 0 : props.items.length - 1 - at;
  const now = `${s.atEnd} ${unseen}`;
  if (now === s.told) return;
  s.told = now;
  props.onEnd?.(s.atEnd, unseen);
}
