/** Pages that list the members of what is stored or signed, against the code: a new member has to be added by hand. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PlaneConfigDocument } from '../../src/contract/plane-config.ts';
import { nameMembers } from '../../src/contract/policy-words.ts';
import { projectRoot } from '../paths.ts';
import { page } from './pages.ts';

/** The row of a table that begins with this word as code. */
function rowOf(name: string, word: string): string {
  const row = page(name)
    .text.split('\n')
    .find((line) => line.startsWith(`| \`${word}\``));
  return row ?? `no row in ${name}`;
}

describe('pages that list members', () => {
  const configuration = 'docs/reference/plane-configuration.md';
  const { policies, settings } = PlaneConfigDocument.properties;

  it.each(Object.keys(policies.items.properties))(
    'the page of the plane configuration names %s of a policy',
    (member) => {
      expect(rowOf(configuration, 'policies'), configuration).toContain(`\`${member}\``);
    },
  );

  it.each(Object.keys(settings.properties))(
    'the page of the plane configuration names the setting %s',
    (member) => {
      expect(page(configuration).text, configuration).toContain(`| \`settings.${member}\` |`);
    },
  );

  const proofs = 'docs/reference/proof-format.md';
  const source = readFileSync(`${projectRoot}/src/core/events/record.ts`, 'utf8');
  const [, union = ''] = /export type LeafType =([^;]*);/.exec(source) ?? [];

  it.each(union.match(/gov\.\w+\/\d+/g) ?? [])('the proof format has a row for the leaves %s', (type) => {
    expect(rowOf(proofs, type)).toContain(type);
  });

  it.each([...nameMembers])('the proof format names %s, which a leaf says of a new policy', (member) => {
    expect(rowOf(proofs, 'gov.policy/1'), proofs).toMatch(new RegExp(`\\b${member}\\b`));
  });
});
