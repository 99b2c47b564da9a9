/**
 * Every kind of record against a whole checkout of github.com/ocsf/ocsf-schema: each attribute exists in its class or
 * object, required ones are there, numbers are in their enumeration, and constraints hold. GOV_OCSF names a folder with
 * a checkout of each version: `1.9.0` and `1.8.0`. Skipped where it is missing; the facts that matter are also in
 * `test/core/forwards/ocsf.test.ts`.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ocsfEvent, ocsfVersions } from '../../src/core/forwards/ocsf.ts';
import { hostile, hostileRecord, kinds } from '../core/forwards/samples.ts';

const root = process.env['GOV_OCSF'] ?? '';

interface Attribute {
  readonly requirement?: string;
  readonly enum?: Readonly<Record<string, object>>;
  readonly type?: string;
}
interface Definition {
  readonly name: string;
  readonly extends?: string;
  readonly attributes: Readonly<Record<string, Attribute | readonly string[]>>;
  readonly constraints?: { readonly at_least_one?: readonly string[] };
}

/** Reads definitions with what they inherit and include. */
function definitionsOf(folder: string) {
  const read = (path: string): Definition =>
    JSON.parse(readFileSync(join(folder, path), 'utf8')) as Definition;
  const all = (glob: string): Map<string, Definition> =>
    new Map(globSync(glob, { cwd: folder }).map((path) => [read(path).name, read(path)] as const));
  const [events, objects] = [all('events/**/*.json'), all('objects/*.json')];
  const dictionary = read('dictionary.json').attributes as Readonly<Record<string, Attribute>>;
  const whole = (definition: Definition, within: Map<string, Definition>): Record<string, Attribute> => {
    const parent = definition.extends === undefined ? undefined : within.get(definition.extends);
    const { $include = [], ...own } = definition.attributes as Record<string, Attribute> & {
      $include?: string[];
    };
    const merged: Record<string, Attribute> = parent === undefined ? {} : whole(parent, within);
    for (const path of $include) {
      for (const [name, attribute] of Object.entries(read(path).attributes as Record<string, Attribute>))
        merged[name] = {
          ...merged[name],
          ...attribute,
          requirement: merged[name]?.requirement ?? 'optional',
        };
    }
    for (const [name, attribute] of Object.entries(own)) {
      const values = { ...merged[name]?.enum, ...attribute.enum };
      merged[name] = {
        ...merged[name],
        ...attribute,
        ...(Object.keys(values).length === 0 ? {} : { enum: values }),
      };
    }
    return merged;
  };
  return { events, objects, dictionary, whole };
}

function schemaOf(folder: string) {
  const { events, objects, dictionary, whole } = definitionsOf(folder);
  const constraintOf = (name: string | undefined): readonly string[] | undefined => {
    const found = name === undefined ? undefined : objects.get(name);
    return found === undefined ? undefined : (found.constraints?.at_least_one ?? constraintOf(found.extends));
  };

  const check = (value: object, attributes: Record<string, Attribute>, at: string): string[] => [
    ...Object.entries(attributes)
      .filter(([name, { requirement }]) => requirement === 'required' && !Object.hasOwn(value, name))
      .map(([name]) => `${at} lacks ${name}`),
    ...Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
      const own = attributes[name];
      if (own === undefined) return [`${at}.${name} is unknown`];
      const known = dictionary[name];
      const type = own.type ?? known?.type ?? '';
      const values = { ...known?.enum, ...own.enum };
      // the compiler of the schema fills in these two
      const isDerived = name === 'category_uid' || name === 'class_uid';
      if (
        !isDerived &&
        typeof member === 'number' &&
        Object.keys(values).length > 0 &&
        !(String(member) in values)
      )
        return [`${at}.${name}: ${member} is not in the enumeration`];
      const object = objects.get(type);
      if (object === undefined || name === 'unmapped') return [];
      const members = Array.isArray(member) ? (member as object[]) : [member as object];
      const oneOf = constraintOf(type);
      return members.flatMap((each) => [
        ...check(each, whole(object, objects), `${at}.${name}`),
        ...(oneOf === undefined || oneOf.some((some) => Object.hasOwn(each, some))
          ? []
          : [`${at}.${name}: none of ${oneOf.join(', ')}`]),
      ]);
    }),
  ];
  return (event: Readonly<Record<string, unknown>>): string[] => {
    const name = event['class_uid'] === 2004 ? 'detection_finding' : 'api_activity';
    return check(event, whole(events.get(name)!, events), name);
  };
}

describe.each(ocsfVersions)('records as OCSF %s', (ocsfVersion) => {
  const folder = join(root, ocsfVersion);
  const isThere = root !== '' && existsSync(join(folder, 'dictionary.json'));
  it.skipIf(!isThere)('every kind of record fits the whole schema (needs GOV_OCSF)', () => {
    const faultsOf = schemaOf(folder);
    const records = [...kinds(), ...hostile.map(hostileRecord)];
    expect(
      records.flatMap((record) => faultsOf(ocsfEvent(record, { ocsfVersion, version: '0.1.0' }))),
    ).toEqual([]);
  });
});
