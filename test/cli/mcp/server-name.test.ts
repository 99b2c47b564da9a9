import { expect, it } from 'vitest';
import { serverNameAt, serverNameOf } from '../../../src/cli/mcp/server-name.ts';

it.each([
  ['npx -y @modelcontextprotocol/server-filesystem@1.0 /srv', 'server-filesystem'],
  ['node ./dist/crm-server.js --port 1', 'crm-server'],
  ['uvx mcp-server-git', 'mcp-server-git'],
  ['docker run -i mcp/fetch', 'fetch'],
  ['/opt/bin/my server', 'my'],
  ['npx', 'npx'],
])('the name of the server %s is %s', (line, name) => {
  expect(serverNameOf(line.split(' '))).toBe(name);
});

it('the name of a server at a URL is its host and path', () => {
  expect(serverNameAt(new URL('https://mcp.example.com:8443/v1/mcp?key=secret'))).toBe(
    'mcp.example.com-8443-v1-mcp',
  );
});
