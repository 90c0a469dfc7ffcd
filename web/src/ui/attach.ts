// Pictures and files that are pasted, dropped or chosen: a picture goes along as one, a text file as its text.

import type { Image } from "../wire";
import type { Words } from "../words";

export interface Attached {
  key: number;
  name: string;
  image: Image | null;
  /** Goes into the message, after it. */
  text: string | null;
}

const PICTURE = /^image\/(png|jpeg|gif|webp)$/;
const MAX_PICTURE = 20 * 1024 * 1024;
const MAX_TEXT = 512 * 1024;
/** Lines of a pasted text that stand in the composer themselves. */
export const LONG_PASTE = 40;
export const LONG_PASTE_LETTERS = 4000;

let count = 0;

export function attachedText(name: string, text: string): Attached {
  return { key: ++count, name, image: null, text };
}

/** Reads a file, or says why it cannot go along. */
export async function attach(file: File, words: Words): Promise<Attached | string> {
  const name = file.name || words.image;
  if (PICTURE.test(file.type)) {
    if (file.size > MAX_PICTURE) return words.tooLarge(name);
    return { key: ++count, name, image: { media_type: file.type, data: await base64(file) }, text: null };
  }
  if (file.size > MAX_TEXT) return words.tooLarge(name);
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? words.noText(name) : attachedText(name, text);
  } catch {
    return words.noText(name);
  }
}

function base64(file: File): Promise<string> {
  return new Promise((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result).replace(/^data:[^,]*,/, ""));
    reader.onerror = () => fail(reader.error);
    reader.readAsDataURL(file);
  });
}

/** The message with the texts that go along. */
export function withTexts(message: string, attached: Attached[]): string {
  const texts = attached.filter((one) => one.text !== null);
  if (texts.length === 0) return message;
  const fence = (text: string) => "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map((run) => run[0].length + 1)));
  const blocks = texts.map((one) => `${one.name}:\n${fence(one.text!)}\n${one.text!.replace(/\n$/, "")}\n${fence(one.text!)}`);
  return [message, ...blocks].filter(Boolean).join("\n\n");
}
