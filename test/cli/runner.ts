/** Starts the tool from its sources, as `bin/gov` does from the bundle; spawned by the tests of `test/cli`. */
import { main } from '../../src/cli/main.ts';

await main(process.argv.slice(2));
