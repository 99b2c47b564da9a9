/**
 * Schema pieces shared by several tags. A schema here *is* the JSON Schema that is published and checked.
 */
import { Type } from 'typebox';
import type { TLiteral, TProperties, TSchema, TUnion } from 'typebox';
import { limits } from './limits.ts';
import { idPattern } from './text-patterns.ts';

/** An object that refuses unknown members; the only way in which inputs are declared. */
export const exact = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false });

/** An identifier chosen by a client: runId, policyId, nodeId, clientEventId. */
export const clientId = (description: string) =>
  Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$',
    maxLength: limits.identifierChars,
    description,
  });

/** An identifier made by the service: TypeID, `<prefix>_` and 26 characters of base32. */
export const serviceId = (prefix: string) =>
  Type.String({
    pattern: idPattern(prefix),
    description: `TypeID with prefix ${prefix}`,
  });

/** RFC 3339 with offset; calendar and range are checked by `src/core/time.ts`. */
export const timestamp = (description: string) => Type.String({ format: 'date-time', description });

/** One of these words. */
export const oneOf = <const Word extends string>(words: readonly Word[]) =>
  // of a list typebox would derive no words; that of one literal, which may be any of them, is the same
  Type.Union(words.map((word) => Type.Literal(word))) as unknown as TUnion<[TLiteral<Word>]>;

export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

export const sha256Hash = Type.String({
  pattern: '^sha256:[0-9a-f]{64}$',
  description: 'sha256: and 64 hex digits',
});
/** A bare tree hash or salted digest inside C2SP and RFC 9901 texts. */
export const freeObject = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Free-form JSON object',
});

/** Text of a query parameter that holds an integer; `core`-side readers turn it into a number. */
export const limitQuery = (fallback: number, max: number) =>
  Type.Optional(
    Type.Integer({
      minimum: 1,
      description: `Page size, default ${fallback}; above ${max} counts as ${max}`,
    }),
  );
export const cursorQuery = Type.Optional(
  Type.String({ maxLength: limits.cursorChars, description: 'nextCursor of the page before' }),
);

export const page = <Item extends TSchema>(item: Item) =>
  Type.Object({ data: Type.Array(item), nextCursor: nullable(Type.String()) });

export const runIdParams = exact({ runId: clientId('Run') });
