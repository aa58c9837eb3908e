// Addresses of views that several others lead to.

/** Where both trees of a theorem are shown; `attempts` are the numbers of the attempts, if they are chosen. */
export function besideLink(run, theorem, against, attempts = {}) {
  const query = new URLSearchParams(Object.entries(attempts).filter(([, one]) => one));
  return `#/run/${run}/theorem/${theorem}/beside/${against}${query.size ? `?${query}` : ""}`;
}
