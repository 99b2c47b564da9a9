/**
 * Schema parts that several tags share. Each is the JSON Schema that the service publishes and checks.
 * Proven by `test/contract/schema.test.ts`.
 */
import { Type } from 'typebox';
import type { TLiteral, TProperties, TSchema, TUnion } from 'typebox';
import { limits } from './limits.ts';
import { clientIdPattern, idPattern } from './text-patterns.ts';

/** An object that refuses unknown members; every input schema uses it. */
export const exact = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false });

/** An identifier that the client chooses: runId, policyId, nodeId, clientEventId. */
export const clientId = (description: string) =>
  Type.String({
    pattern: clientIdPattern,
    maxLength: limits.identifierChars,
    description,
  });

/** An identifier that the service makes: a TypeID, `<prefix>_` and 26 characters of base32. */
export const serviceId = (prefix: string) =>
  Type.String({
    pattern: idPattern(prefix),
    description: `TypeID with prefix ${prefix}`,
  });

/** RFC 3339 with offset; `src/core/time.ts` checks calendar and range. */
export const timestamp = (description: string) => Type.String({ format: 'date-time', description });

/** One of these words. */
export const oneOf = <const Word extends string>(words: readonly Word[]) =>
  // typebox derives no words from a list; the cast to a union of one literal type gives the same schema
  Type.Union(words.map((word) => Type.Literal(word))) as unknown as TUnion<[TLiteral<Word>]>;

export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

export const sha256Hash = Type.String({
  pattern: '^sha256:[0-9a-f]{64}$',
  description: 'sha256: and 64 hex digits',
});
export const freeObject = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Free-form JSON object',
});

/** A member that a body may repeat but not set (contract A4). */
export const readOnly = Type.Optional(
  Type.Unknown({ description: 'As the service returned it; it cannot be set' }),
);

/** A whole name that a search compares, as a query parameter. */
export const searchedName = (description: string) =>
  Type.String({ minLength: 1, maxLength: limits.partyNameChars, description });

/** The page size of a list, as a query parameter. */
export const limitQuery = (fallback: number, max: number) =>
  Type.Optional(
    Type.Integer({
      minimum: 1,
      description: `Page size, default ${fallback}, at most ${max}; a larger value counts as ${max}`,
    }),
  );
export const cursorQuery = Type.Optional(
  Type.String({ maxLength: limits.cursorChars, description: 'nextCursor of the previous page' }),
);

/** The parameters of a list with the usual page size. */
export const paging = { cursor: cursorQuery, limit: limitQuery(limits.pageDefault, limits.pageMax) };
export const pageQuery = exact(paging);

export const page = <Item extends TSchema>(item: Item) =>
  Type.Object({ data: Type.Array(item), nextCursor: nullable(Type.String()) });

export const runIdParams = exact({ runId: clientId('Run') });
