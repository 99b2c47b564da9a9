/** The release this client and tool belong to; `test/client/create.test.ts` holds it to package.json. */
export const version = '0.1.0';
