/** Joins the handlers of all rooms and rejects an operation that two rooms handle. Proven by `test/service/combine.test.ts`. */

type Intersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;

/**
 * All handlers of `rooms`, by operation. The result has the type of all rooms together, so an operation without a handler
 * does not compile where the result must be complete. Throws at startup where two rooms handle one operation; a spread
 * would silently keep the last.
 */
export function combine<const Rooms extends Readonly<Record<string, object>>>(
  rooms: Rooms,
): Intersection<Rooms[keyof Rooms]> {
  const roomOf = new Map<string, string>();
  const all: Record<string, unknown> = {};
  for (const [room, handlers] of Object.entries(rooms)) {
    for (const [operation, handler] of Object.entries(handlers)) {
      const first = roomOf.get(operation);
      if (first !== undefined) {
        throw new Error(`expected one handler of ${operation}, got two: in ${first} and in ${room}`);
      }
      roomOf.set(operation, room);
      all[operation] = handler;
    }
  }
  // each entry of each room was copied, none twice
  return all as Intersection<Rooms[keyof Rooms]>;
}
