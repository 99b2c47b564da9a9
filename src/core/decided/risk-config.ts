/**
 * The leaf of a risk router configuration, `gov.config/1` (`docs/reference/proof-format.md`). In clear: its hash. Committed: the
 * configuration and its author. It is in force from this leaf on; before the first leaf the default is in force.
 * Proven by `test/core/decided/risk-config.test.ts`.
 */
import type { Json, JsonObject } from '../json/parse.ts';
import { draftLeaf, type OtherDraft } from '../events/record.ts';
import type { OpenLeaf } from './leaf.ts';

export interface ConfigChange {
  readonly configHash: string;
  readonly at: string;
}

export function draftConfigChange(
  change: ConfigChange & { readonly config: JsonObject; readonly actor: string },
  salt: () => string,
): OtherDraft {
  const { config, actor, ...fields } = change;
  const committed: [string, Json][] = [
    ['/config', config],
    ['/actor', actor],
  ];
  return draftLeaf('gov.config/1', fields, { committed, salt });
}

/** Reads a leaf; `config` and `actor` are null if erased. */
export function openConfigChange({ clear, committed }: OpenLeaf): ConfigChange & {
  readonly config: JsonObject | null;
  readonly actor: string | null;
} {
  const { configHash, at } = clear as unknown as ConfigChange;
  const config = (committed.get('config') ?? null) as JsonObject | null;
  return { configHash, at, config, actor: (committed.get('actor') ?? null) as string | null };
}
