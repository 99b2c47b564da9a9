/** The console's page: mounts it into the document. Tested by `test/console/shell.test.ts`. */
import { render } from 'preact';
import { App } from './app/root.tsx';

const place = document.getElementById('console');
if (place === null) throw new Error('expected an element with the id console in index.html');
render(<App />, place);
