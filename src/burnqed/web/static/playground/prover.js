// What only a prover is asked: how it is, and a proof that is followed.

import { Refused, answered, events } from "../api.js";

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
  const answer = await answered("POST", "/prove", { ...asked, mode: "stream" }, signal);
  begun(answer.headers.get("Location"));
  let last = "";
  await events(answer.body, (event) => {
    last = event.event;
    tell(event);
  });
  if (last !== "answer" && last !== "refusal") {
    throw new Refused("the connection ended before there was an outcome", "nothing is known of the text; ask again");
  }
}
