// Keeps the shell (page, scripts, styles, icons) so that the page opens when the server is slow or away. Nothing of a session
// is ever kept: every other request goes to the server.
const STORE = "ostler-shell-1";
const MAX_ASSETS = 40;

self.addEventListener("install", () => self.skipWaiting());

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches.keys()
      .then((names) => Promise.all(names.filter((name) => name !== STORE).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

const isAsset = (path) => path.startsWith("/assets/") || /^\/(icon[\w-]*\.(svg|png)|manifest\.webmanifest)$/.test(path);

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (isAsset(url.pathname)) event.respondWith(asset(request));
  else if (request.mode === "navigate" && /^\/($|s\/|p\/)/.test(url.pathname) && !url.search) event.respondWith(page(request));
});

async function asset(request) {
  const store = await caches.open(STORE);
  const known = await store.match(request);
  if (known) return known;
  const answer = await fetch(request);
  if (answer.ok) {
    await store.put(request, answer.clone());
    const keys = await store.keys();
    await Promise.all(keys.slice(0, Math.max(0, keys.length - MAX_ASSETS)).map((key) => store.delete(key)));
  }
  return answer;
}

// The newest page, or the last one that is known. A page that leads to the login is not the shell.
async function page(request) {
  const store = await caches.open(STORE);
  try {
    const answer = await fetch(request);
    if (answer.ok && !answer.redirected) await store.put("/", answer.clone());
    return answer;
  } catch (error) {
    const known = await store.match("/");
    if (known) return known;
    throw error;
  }
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const path = (event.notification.data && event.notification.data.path) || "/";
  event.waitUntil(
    self.clients.matchAll({ type: "window" }).then((pages) => {
      const open = pages.find((one) => new URL(one.url).pathname === path) || pages[0];
      return open ? open.focus().then((one) => (new URL(one.url).pathname === path ? one : one.navigate(path))) : self.clients.openWindow(path);
    }),
  );
});
