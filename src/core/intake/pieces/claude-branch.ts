/**
 * Lines that a session of Claude Code repeats. The file of a branch begins with the lines of its parent, and each names the
 * line that it repeats (`forkedFrom`). A session that is resumed may repeat lines of its own, with other members for its
 * own housekeeping. A fork (`--fork-session`) repeats lines as if they were its own: only the file of the other session
 * shows it. Tested by `test/core/intake/pieces/claude-branch.test.ts`.
 */
import { words } from '../conversation.ts';
import { isSource, textOf, type CopiedLines, type Source } from '../run.ts';

interface Branched {
  /** The lines of the session itself. */
  readonly own: readonly Source[];
  /** The lines of each parent, by its session. */
  readonly parents: ReadonlyMap<string, readonly Source[]>;
}

/**
 * Separates the lines of a session from those of its parents. Lines that name one and the same line of the parent only say
 * where the branch begins.
 */
export function branchesOf(session: string, lines: readonly Source[], copied?: CopiedLines): Branched {
  const through = lines.findIndex((line) => textOf(line['uuid']) === copied?.through);
  if (copied !== undefined && through !== -1 && !lines.some((line) => parentOf(line) !== undefined)) {
    const isCopy = (line: Source, at: number): boolean => at <= through && textOf(line['uuid']) !== undefined;
    return {
      own: lines.filter((line, at) => !isCopy(line, at)),
      parents: new Map([[copied.run, lines.filter(isCopy)]]),
    };
  }
  const copies = new Map<string, Set<unknown>>();
  for (const line of lines) {
    const place = placeOf(line);
    if (place !== undefined) copies.set(place, (copies.get(place) ?? new Set()).add(line['uuid']));
  }
  const own: Source[] = [];
  const parents = new Map<string, Source[]>();
  for (const line of lines) {
    const [parent, place] = [parentOf(line), placeOf(line)];
    const isCopy = place !== undefined && (place === line['uuid'] || copies.get(place)?.size === 1);
    if (parent === undefined || parent === session || !isCopy) own.push(line);
    else pushTo(parents, parent, line);
  }
  return { own, parents };
}

function pushTo(parents: Map<string, Source[]>, parent: string, line: Source): void {
  const known = parents.get(parent);
  if (known === undefined) parents.set(parent, [line]);
  else known.push(line);
}

const parentOf = ({ forkedFrom: given }: Source): string | undefined =>
  isSource(given) ? textOf(given['sessionId']) : undefined;
const placeOf = ({ forkedFrom: given }: Source): string | undefined =>
  isSource(given) ? textOf(given['messageUuid']) : undefined;

const housekeeping = words(
  'parentUuid logicalParentUuid sessionId timestamp cwd gitBranch version slug userType entrypoint permissionMode forkedFrom promptId requestId',
);

/** Returns the members of a line that say what happened: two lines of one id with the same ones are one line. */
export const factsOf = (line: Source): Source =>
  Object.fromEntries(Object.entries(line).filter(([name]) => !housekeeping.has(name)));
