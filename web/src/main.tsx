// The browser client begins here: who is logged in, the sessions, the stream, the page.

import { render } from "preact";
import { ApiError, api, setCsrf } from "./net/api";
import { openLink } from "./net/link";
import { app, change, go, parseRoute, setLanguage, showTheme } from "./state/app";
import { comeBack, leaveForLogin, recall } from "./state/prefs";
import { hear, loadSessions, setLink } from "./state/sessions";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/chat.css";
import "./styles/panels.css";
import { Frame } from "./ui/Frame";

const RETRY_MS = 1500;

async function begin(): Promise<void> {
  try {
    const me = await api.me();
    setCsrf(me.csrf);
    change({ me });
    const back = comeBack();
    if (back) go(parseRoute(back), "replace");
    if (!recall("language")) setLanguage(me.language === "zh" ? "zh" : "en");
    await loadSessions();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) leaveForLogin();
    else setTimeout(() => void begin(), RETRY_MS);
  }
}

showTheme(app.get().theme);
render(<Frame />, document.getElementById("app")!);
setLink(openLink(hear));
void begin();
if ("serviceWorker" in navigator && import.meta.env.PROD) void navigator.serviceWorker.register("/sw.js").catch(() => {});
