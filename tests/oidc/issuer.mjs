// A real issuer of tokens on the loopback, and people who log in there: node issuer.mjs PROVIDER ISSUER CERTIFICATE KEY
//
// PROVIDER is the folder that `build` filled. Takes lines `CLIENT ACCOUNT` and answers each with `token JWT`: the id token that
// the client was given after the account had logged in and agreed, by the code flow with PKCE. Ends with its standard input.
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [folder, issuer, certificate, key] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(join(folder, 'node_modules/oidc-provider/lib/index.js')));

const BACK = 'http://localhost:8000';
const SCOPE = 'openid email groups';
const signing = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
const client = (client_id) => ({
  client_id,
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  redirect_uris: [BACK],
  grant_types: ['authorization_code'],
  response_types: ['code'],
});
const provider = new Provider(issuer, {
  clients: [client('kubernetes'), client('other')],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
  scopes: SCOPE.split(' '),
  // As Dex does it: what a scope asks for stands in the id token.
  conformIdTokenClaims: false,
  cookies: { keys: [randomBytes(32).toString('hex')] },
  jwks: { keys: [{ ...signing, use: 'sig', alg: 'RS256' }] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true, groups: ['admins'] }),
  }),
});
const tls = { cert: readFileSync(certificate), key: readFileSync(key) };
const { hostname, port } = new URL(issuer);
createServer(tls, provider.callback()).listen(Number(port), hostname, () => console.log('ready'));

async function logIn(client_id, account) {
  const cookies = new Map();
  const visit = async (url, options = {}) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, { ...options, redirect: 'manual', headers: { cookie } });
    for (const set of answer.headers.getSetCookie()) {
      const [pair] = set.split(';');
      const at = pair.indexOf('=');
      cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return answer;
  };
  const verifier = randomBytes(32).toString('base64url');
  const asked = new URLSearchParams({
    client_id,
    response_type: 'code',
    redirect_uri: BACK,
    scope: SCOPE,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  let url = new URL(`/auth?${asked}`, issuer);
  for (let steps = 0; url.origin !== BACK; steps += 1) {
    if (steps > 12) throw new Error(`the login comes to no end at ${url}`);
    let page = await visit(url);
    if (!page.headers.has('location')) {
      const prompt = /name="prompt" value="(\w+)"/.exec(await page.text())?.[1];
      if (!prompt) throw new Error(`nothing to fill in at ${url}: ${page.status}`);
      page = await visit(url, { method: 'POST', body: new URLSearchParams({ prompt, login: account, password: 'any' }) });
    }
    url = new URL(page.headers.get('location'), issuer);
  }
  const given = await fetch(new URL('/token', issuer), {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: url.searchParams.get('code'),
      redirect_uri: BACK,
      client_id,
      code_verifier: verifier,
    }),
  });
  return (await given.json()).id_token;
}

for await (const line of createInterface({ input: process.stdin })) {
  const [client_id, account] = line.split(' ');
  console.log(`token ${await logIn(client_id, account)}`);
}
process.exit(0);
