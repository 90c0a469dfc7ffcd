// Notifications of the system, where the person allowed them and looks elsewhere. Tabs share a tag, so one is shown.

export function canNotify(): boolean {
  return typeof Notification !== "undefined";
}

export async function allowNotify(): Promise<boolean> {
  return canNotify() && (await Notification.requestPermission()) === "granted";
}

export function notify(session: string, text: string): void {
  if (!canNotify() || Notification.permission !== "granted" || (!document.hidden && document.hasFocus())) return;
  const options = { tag: `${session}:${text}`, icon: "/icon-192.png", data: { path: `/s/${encodeURIComponent(session)}` } };
  // A phone shows only those of a service worker.
  const ready = navigator.serviceWorker?.controller ? navigator.serviceWorker.ready : null;
  if (ready) void ready.then((worker) => worker.showNotification(text, options)).catch(() => {});
  else plain(text, options);
}

function plain(text: string, options: NotificationOptions & { data: { path: string } }): void {
  try {
    const shown = new Notification(text, options);
    shown.onclick = () => {
      window.focus();
      shown.close();
    };
  } catch {
    // Not on this device.
  }
}
