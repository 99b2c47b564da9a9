/** The actor or resource of an event as one word. Tested by `test/cli/commands/events/tail.test.ts`. */

/** Its name, else its id, else the whole as JSON; empty for null. */
export function partyName(party: unknown): string {
  if (typeof party !== 'object' || party === null) return typeof party === 'string' ? party : '';
  const { name, id } = party as { name?: unknown; id?: unknown };
  return typeof name === 'string' ? name : typeof id === 'string' ? id : JSON.stringify(party);
}
