// Requests to the server of the page: JSON, and events as they come.

import { askToken } from "./token.js";

const AGAIN = 3000; // milliseconds until a stream that broke is asked for once more
let token = null; // it stays in this page, and ends with it
let asking = null; // while somebody is asked for it
let refused; // what the server took for no token

export class Refused extends Error {
  constructor(message, hint, status = 0) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

/** What the server knows, as JSON. */
export async function ask(path, query = {}, signal = undefined) {
  const known = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  return send("GET", known.length ? `${path}?${new URLSearchParams(known)}` : path, undefined, signal);
}

/** An answer as JSON to what nobody waits for: whoever has given no token is not asked for it. */
export async function sendQuietly(method, path, content) {
  if (token === refused) throw new Refused("no token was given yet", "", 401);
  return (await answered(method, path, content, undefined, true)).json();
}

/** An answer as JSON, or null where there is none. */
export async function send(method, path, content = undefined, signal = undefined) {
  const answer = await answered(method, path, content, signal);
  return answer.status === 204 ? null : answer.json();
}

/** An answer that is no refusal. Who asks at once with others is asked for the token once. */
export async function answered(method, path, content = undefined, signal = undefined, quietly = false) {
  const body = content && JSON.stringify(content);
  for (;;) {
    const used = token;
    let answer;
    try {
      answer = await fetch(path, { method, headers: used === null ? {} : { Authorization: `Bearer ${used}` }, body, signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Refused("the server does not answer", "is `burn-qed` still running?");
    }
    if (answer.ok) return answer;
    if (answer.status === 401) refused = used;
    if (answer.status === 401 && used === token && !quietly) {
      asking ??= askToken(used !== null).finally(() => { asking = null; });
      token = await asking;
    }
    if (answer.status !== 401 || token === null || quietly) throw await refusal(answer);
  }
}

/** Why there is no answer. A server that finds no room says so in words of its own, and not in JSON. */
async function refusal(answer) {
  const text = await answer.text();
  try {
    const { error, hint } = JSON.parse(text);
    return new Refused(error, hint, answer.status);
  } catch {
    return new Refused(`the server answers: ${text || answer.statusText}`, "ask again", answer.status);
  }
}

/** Tell every new answer, as long as somebody looks: a browser has few connections to one server. */
export function follow(path, signal, tell) {
  let stream = null;
  const end = () => { stream?.abort(); stream = null; };
  const begin = async () => {
    if (stream || document.hidden || signal.aborted) return;
    const mine = stream = new AbortController();
    while (!mine.signal.aborted) {
      try {
        await events((await answered("GET", path, undefined, mine.signal)).body, tell);
      } catch (error) {
        if (error.name === "AbortError" || (error.status >= 400 && error.status < 500)) return;
        if (!(error instanceof Refused)) throw error;
      }
      await new Promise((passed) => setTimeout(passed, AGAIN));
    }
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? end() : begin()), { signal });
  addEventListener("pagehide", end, { signal });
  signal.addEventListener("abort", end);
  begin();
}

/** Server-sent events: blocks of lines, with a number and a line of JSON. */
export async function events(body, tell) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      return; // the connection broke: what is missing is noticed by its last event
    }
    if (part.done) return;
    const blocks = (rest + part.value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").find((line) => line.startsWith("data: "));
      if (data) tell(JSON.parse(data.slice("data: ".length)));
    }
  }
}
