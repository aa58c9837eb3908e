// Requests to the prover that serves this page.

import { Refused } from "../api.js";
import { askToken } from "./token.js";

let token = null; // it stays in this page, and ends with it

/** An answer as JSON, or null where there is none. */
export async function send(method, path, content = undefined, signal = undefined) {
  const answer = await sent(method, path, content, signal);
  if (!answer.ok) throw await refusal(answer);
  return answer.status === 204 ? null : answer.json();
}

/** What serves; it answers also while it starts. Null if nobody answers. */
export async function health() {
  try {
    return await (await fetch("/health")).json();
  } catch {
    return null;
  }
}

/** A proof, event by event. `begun` gets the job's address: DELETE stops it, and so does `signal`. */
export async function prove(asked, signal, begun, tell) {
  const answer = await sent("POST", "/prove", { ...asked, mode: "stream" }, signal);
  if (!answer.ok) throw await refusal(answer);
  begun(answer.headers.get("Location"));
  let last = "";
  await read(answer.body, (event) => {
    last = event.event;
    tell(event);
  });
  if (last !== "answer" && last !== "refusal") {
    throw new Refused("the connection ended before there was an outcome", "nothing is known of the text; ask again");
  }
}

async function sent(method, path, content, signal) {
  const body = content && JSON.stringify(content);
  for (let wrong = false; ; wrong = true) {
    const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
    let answer;
    try {
      answer = await fetch(path, { method, headers, body, signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Refused("the server does not answer", "is `burn-qed serve prove` still running?");
    }
    if (answer.status !== 401) return answer;
    token = await askToken(wrong);
    if (token === null) throw await refusal(answer);
  }
}

async function refusal(answer) {
  const { error, hint } = await answer.json();
  return new Refused(error, hint);
}

/** Server-sent events: blocks of lines, with a number and a line of JSON. */
async function read(body, tell) {
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
