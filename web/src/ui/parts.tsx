// Small pieces that everything uses: icons, a copy button, menus, signs, dialogs.

import { Component, type ComponentChildren, type VNode } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { change, useWords, type Sign as SignName } from "../state/app";

const ICONS = {
  plus: "M8 3v10M3 8h10",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  close: "M4 4l8 8M12 4l-8 8",
  side: "M2.5 3.5h11v9h-11zM10 3.5v9",
  stop: "M4.5 4.5h7v7h-7z",
  send: "M8 13V3.5M4 7l4-4 4 4",
  clip: "M12.5 7.5l-4.6 4.6a2.8 2.8 0 01-4-4l5-5a1.9 1.9 0 012.7 2.7l-5 5a.9.9 0 01-1.3-1.3l4.3-4.3",
  down: "M4 6.5L8 10.5 12 6.5",
  right: "M6.5 4L10.5 8 6.5 12",
  dots: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  search: "M7 11.5a4.5 4.5 0 100-9 4.5 4.5 0 000 9zM10.3 10.3l3.2 3.2",
  gear: "M3 5h5M11 5h2M3 11h2M8 11h5M8 3.5v3M5 9.5v3",
  back: "M6 4L2.5 7.5 6 11M2.5 7.5h7a4 4 0 014 4v.5",
  check: "M3 8.5l3.5 3.5L13 4.5",
  refresh: "M13 8a5 5 0 11-1.5-3.6M13 2.5v3h-3",
  chart: "M3 13V8M7 13V3M11 13V6M2 13.5h12",
  folder: "M2 4.5h4l1.5 1.5H14v7H2z",
  comment: "M2.5 3.5h11v8h-6l-3 2.5v-2.5h-2z",
  plug: "M6 2.5v3M10 2.5v3M4.5 5.5h7v2a3.5 3.5 0 01-7 0zM8 11v2.5",
  book: "M3 2.5h8.5v11H4.2A1.2 1.2 0 013 12.3zM3 11.5h8.5",
  shield: "M8 2l5 2v4c0 3-2 5-5 6-3-1-5-3-5-6V4z",
  key: "M9.5 6.5a3 3 0 10-2.2 2.9L8.5 10.5H10V12h1.5v1.5H13V11L9.3 7.3",
  pulse: "M2 8.5h3l1.5-4 3 7 1.5-3H14",
};

export type IconName = keyof typeof ICONS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">
      <path d={ICONS[name]} />
    </svg>
  );
}

const SIGNS: Record<SignName, string> = { working: "●", asks: "!", background: "◔", idle: "✓", failed: "✗", closed: "" };

export function Sign({ sign }: { sign: SignName }) {
  const words = useWords();
  return (
    <span class={`sign sign-${sign}`}>
      <span aria-hidden="true">{SIGNS[sign]}</span>
      {sign === "closed" ? null : <span class="hidden">{words.state[sign]}</span>}
    </span>
  );
}

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const words = useWords();
  const [done, setDone] = useState(false);
  const copy = () => {
    void navigator.clipboard?.writeText(text).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    }, () => {});
  };
  return (
    <button type="button" class="quiet small" onClick={copy} title={label ?? words.copy}>
      <Icon name={done ? "check" : "copy"} />
      <span class={label ? "" : "hidden"}>{done ? words.copied : (label ?? words.copy)}</span>
    </button>
  );
}

/** A picture; pressed, it is shown as large as it fits. */
export function Shot({ source }: { source: string }) {
  const words = useWords();
  return <button type="button" class="shot" title={words.enlarge} onClick={() => change({ dialog: { at: "picture", source } })}><img src={source} alt={words.image} /></button>;
}

/** Draws again only when a property changed. */
export class Memo<P extends object> extends Component<{ of: P; draw: (props: P) => VNode | null }> {
  override shouldComponentUpdate(next: { of: P }): boolean {
    const [a, b] = [this.props.of as Record<string, unknown>, next.of as Record<string, unknown>];
    return Object.keys({ ...a, ...b }).some((key) => !Object.is(a[key], b[key]));
  }

  override render() {
    return this.props.draw(this.props.of);
  }
}

export interface MenuItem {
  label: string;
  hint?: string;
  marked?: boolean;
  bad?: boolean;
  /** What the rows below it are about; it cannot be chosen. */
  heading?: boolean;
  href?: string;
  run?: () => void;
}

interface MenuProps {
  label: string;
  children: ComponentChildren;
  items: MenuItem[] | (() => Promise<MenuItem[]>);
  class?: string;
  align?: "left" | "right";
  up?: boolean;
  /** The button has a text: the label goes before it. */
  text?: boolean;
  /** Over what scrolls around it, and passed over by Tab: what it does can be done elsewhere, too. */
  float?: boolean;
}

/** Choices among which one is looked for. */
const MANY_CHOICES = 12;
/** Pixels that a floating menu needs below its button; with less it stands above. */
const FLOAT_ROOM = 170;

/** A button that opens a list of choices; arrows, Home, End and Escape work. */
export function Menu({ label, children, items, class: name, align, up, text, float }: MenuProps) {
  const [open, setOpen] = useState<MenuItem[] | null>(null);
  const [filter, setFilter] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const words = useWords();
  const toggle = async () => {
    setFilter("");
    setOpen(open ? null : typeof items === "function" ? await items() : items);
  };
  const isLong = (open?.length ?? 0) > MANY_CHOICES;
  const has = (item: MenuItem) => `${item.label} ${item.hint ?? ""}`.toLowerCase().includes(filter.toLowerCase());
  const shown = filter ? (open ?? []).filter((item) => !item.heading && has(item)) : (open ?? []);
  useEffect(() => {
    if (!open) return;
    const first = '[data-marked="true"], [role="menuitem"]';
    // On a phone the field would bring up the keyboard.
    const field = matchMedia("(hover: hover)").matches ? box.current?.querySelector<HTMLElement>(".menu-find") : null;
    (field ?? box.current?.querySelector<HTMLElement>(first))?.focus();
    const away = (event: PointerEvent) => {
      if (!box.current?.parentElement?.contains(event.target as Node)) setOpen(null);
    };
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [open]);
  const leave = () => {
    setOpen(null);
    button.current?.focus();
  };
  const place = () => {
    const at = float ? button.current?.getBoundingClientRect() : undefined;
    if (!at) return undefined;
    const below = at.bottom + FLOAT_ROOM < innerHeight;
    return { position: "fixed" as const, left: `${at.left}px`, right: "auto", ...(below ? { top: `${at.bottom + 4}px`, bottom: "auto" } : { top: "auto", bottom: `${innerHeight - at.top + 4}px` }) };
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      leave();
    } else if (event.key === "Tab") setOpen(null);
    else if (event.key === "Enter" && (event.target as HTMLElement).matches(".menu-find")) {
      event.preventDefault();
      box.current?.querySelector<HTMLElement>('[role="menuitem"]')?.click();
    } else if (!((event.key === "Home" || event.key === "End") && (event.target as HTMLElement).matches(".menu-find"))) moveFocus(event, box.current, '[role="menuitem"]');
  };
  return (
    <div class="menu-at">
      <button ref={button} type="button" tabIndex={float ? -1 : undefined} class={name ?? "quiet"} aria-haspopup="menu" aria-expanded={open !== null} aria-controls={open ? id : undefined} aria-label={text ? undefined : label} title={label} onClick={() => void toggle()}>
        {text ? <span class="hidden">{label}: </span> : null}
        {children}
      </button>
      {open ? (
        <div class={`menu ${align === "right" ? "to-right" : ""} ${up ? "up" : ""}`} ref={box} style={place()} onKeyDown={onKey}>
          {isLong ? <input class="menu-find" type="search" placeholder={words.findIn} aria-label={words.findIn} value={filter} onInput={(event) => setFilter(event.currentTarget.value)} /> : null}
          {shown.length === 0 ? <p class="faint pad">{words.noMatch}</p> : null}
          <div role="menu" id={id} aria-label={label}>
            {shown.map((item) => (
              item.heading ? <div key={`h${item.label}`} class="menu-heading" role="presentation">{item.label}</div> : <MenuRow key={item.label} item={item} leave={leave} />
            ))}
          </div>
        </div>
      ) : null}
    </div>
  );
}

function MenuRow({ item, leave }: { item: MenuItem; leave: () => void }) {
  const body = (
    <>
      <span class="menu-mark" aria-hidden="true">{item.marked ? "✓" : ""}</span>
      <span class="menu-label">{item.label}</span>
      {item.hint ? <span class="menu-hint">{item.hint}</span> : null}
    </>
  );
  const marked = item.marked ? "true" : "false";
  if (item.href) return <a role="menuitem" tabIndex={-1} class="menu-row" data-marked={marked} href={item.href} download onClick={leave}>{body}</a>;
  const run = () => {
    leave();
    item.run?.();
  };
  return <button type="button" role="menuitem" tabIndex={-1} class={`menu-row ${item.bad ? "bad" : ""}`} data-marked={marked} aria-current={item.marked ? "true" : undefined} onClick={run}>{body}</button>;
}

/** Arrows, Home and End among the elements of a list. */
export function moveFocus(event: KeyboardEvent, box: HTMLElement | null, what: string): void {
  const all = [...(box?.querySelectorAll<HTMLElement>(what) ?? [])];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to === undefined || all.length === 0) return;
  event.preventDefault();
  all[(to + all.length) % all.length]?.focus();
}

interface ModalProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
  /** As high as the window, whatever is in it. */
  tall?: boolean;
  side?: "left" | "right";
}

/** A dialog over the page. The focus stays in it and goes back to where it was. */
export function Modal({ title, onClose, children, wide, tall, side }: ModalProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const words = useWords();
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const dialog = ref.current!;
    if (!dialog.open) dialog.showModal();
    return () => {
      dialog.close();
      if (before?.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={`modal ${wide ? "wide" : ""} ${tall ? "tall" : ""} ${side ? `side-${side}` : ""}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose();
      }}
    >
      <div class="modal-box">
        <div class="modal-head">
          <h2 id={id}>{title}</h2>
          <button type="button" class="quiet square" aria-label={words.close} title={words.close} onClick={onClose}><Icon name="close" /></button>
        </div>
        <div class="modal-body">{children}</div>
      </div>
    </dialog>
  );
}

/** Something that takes a moment: nothing for 200 ms, then grey lines. */
export function Skeleton({ lines = 4 }: { lines?: number }) {
  const words = useWords();
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 200);
    return () => clearTimeout(timer);
  }, []);
  if (!late) return null;
  return (
    <div class="skeleton" role="status" aria-label={words.loading}>
      {Array.from({ length: lines }, (_, at) => <span key={at} class={`bone bone-${at % 3}`} />)}
    </div>
  );
}

/** The time, drawn again each second while something counts. */
export function useNow(runs: boolean, every = 1000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!runs) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [runs, every]);
  return now;
}

export function useWidth<T extends HTMLElement>(): [{ current: T | null }, number] {
  const ref = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    setWidth(element.clientWidth);
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return [ref, width];
}
