// A value that components follow. A change is told once per task, to those whose part of it changed.

import { useEffect, useReducer, useRef } from "preact/hooks";

export interface Store<T> {
  get(): T;
  set(next: T | ((now: T) => T)): void;
  follow(listener: () => void): () => void;
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      const made = typeof next === "function" ? (next as (now: T) => T)(value) : next;
      if (Object.is(made, value)) return;
      value = made;
      for (const listener of [...listeners]) listener();
    },
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The part of a store that a component draws. */
export function useStore<T, P>(store: Store<T>, pick: (value: T) => P): P {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const part = pick(store.get());
  const latest = useRef({ part, pick });
  latest.current = { part, pick };
  useEffect(() => {
    const check = () => {
      if (!Object.is(latest.current.pick(store.get()), latest.current.part)) redraw(0);
    };
    check();
    return store.follow(check);
  }, [store]);
  return part;
}
