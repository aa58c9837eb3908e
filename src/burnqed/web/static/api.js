// What the server knows, as JSON.

export class Refused extends Error {
  constructor(message, hint) {
    super(message);
    this.hint = hint;
  }
}

/** Tell every new answer, as long as somebody looks: a browser has few connections to one server. */
export function follow(path, signal, tell) {
  let source = null;
  const end = () => { source?.close(); source = null; };
  const begin = () => {
    if (source || document.hidden || signal.aborted) return;
    source = new EventSource(path);
    source.onmessage = (event) => tell(JSON.parse(event.data));
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? end() : begin()), { signal });
  addEventListener("pagehide", end, { signal });
  signal.addEventListener("abort", end);
  begin();
}

export async function ask(path, query = {}, signal = undefined) {
  const url = new URL(path, location.origin);
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) url.searchParams.set(key, value);
  }
  let answer;
  try {
    answer = await fetch(url, { signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("the server does not answer", "is `burn-qed web` still running?");
  }
  const content = await answer.json();
  if (!answer.ok) throw new Refused(content.error, content.hint);
  return content;
}
