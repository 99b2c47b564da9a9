/** Joins the handlers of all rooms and rejects an operation that two rooms handle. Proven by `test/service/combine.test.ts`. */

type Intersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;

/**
 * All handlers of `rooms`, by operation. The result has the combined type of all rooms, so a missing handler
 * does not compile where all are required. Throws at startup where two rooms handle one operation; a spread
 * would silently keep the last handler.
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
  // copies each entry of each room, and none twice
  return all as Intersection<Rooms[keyof Rooms]>;
}
