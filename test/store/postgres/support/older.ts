/** Gives a database the tables of an older release, with the rows that the older tables can take. */
import { Client } from 'pg';
import { migrations } from '../../../../src/store/postgres/schema/tables.ts';
import type { TestDatabase } from './server.ts';

async function asked(url: string, statements: string): Promise<Record<string, string>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, string>>(statements)).rows;
  } finally {
    await client.end();
  }
}

/** Nobody may use the database. */
export async function makeOlder({ superuser, owner }: TestDatabase, version: number): Promise<void> {
  await asked(superuser, 'ALTER SCHEMA gov RENAME TO newer');
  const older = migrations.slice(0, version).map(({ sql }) => sql);
  await asked(
    owner,
    `CREATE SCHEMA gov; SET search_path = gov;
     CREATE TABLE version (one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL);
     INSERT INTO version (version) VALUES (${version});
     ${older.join(';\n')}`,
  );
  const shared = await asked(
    superuser,
    `SELECT o.table_name AS name, string_agg(quote_ident(o.column_name), ', ') AS columns
     FROM information_schema.columns o JOIN information_schema.columns n USING (table_name, column_name)
     WHERE o.table_schema = 'gov' AND n.table_schema = 'newer' AND o.is_generated = 'NEVER'
       AND o.table_name <> 'version' GROUP BY o.table_name`,
  );
  const copies = shared.map(
    ({ name, columns }) => `INSERT INTO gov.${name} (${columns}) SELECT ${columns} FROM newer.${name}`,
  );
  await asked(
    superuser,
    `SET session_replication_role = replica; ${copies.join(';\n')};
     SELECT setval('gov.project_number', (SELECT last_value FROM newer.project_number));
     DROP SCHEMA newer CASCADE`,
  );
}
