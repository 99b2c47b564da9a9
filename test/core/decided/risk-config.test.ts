/** The leaf of the risk router's configuration: its hash is in clear, the configuration can be erased. */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { openLeaf } from '../../../src/core/decided/leaf.ts';
import { draftConfigChange, openConfigChange } from '../../../src/core/decided/risk-config.ts';
import { saltPool } from '../../../src/core/events/disclosure.ts';

it('the leaf of a risk configuration opens unchanged, without erased fields', () => {
  const clear = { configHash: `sha256:${'a'.repeat(64)}`, at: '2026-01-01T00:00:00.000Z' };
  const change = { ...clear, config: { mode: 'strict', signals: {} }, actor: 'key_1' };
  const { record, disclosures } = draftConfigChange(change, saltPool(randomBytes));
  expect(openConfigChange(openLeaf({ index: 5, record, disclosures }))).toEqual(change);
  const erased = openConfigChange(openLeaf({ index: 5, record, disclosures: null }));
  expect(erased).toEqual({ ...clear, config: null, actor: null });
  expect(record).not.toContain('strict');
});
