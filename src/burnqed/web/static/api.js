// What the server knows, as JSON.

export class Refused extends Error {
  constructor(message, hint) {
    super(message);
    this.hint = hint;
  }
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
