// What `hangdbg serve --json` prints. scripts/write-reference writes it, from docs/schemas.

export interface Listening {
  /** Where it listens */
  address: string;
  /** Token that clients need; null: none */
  token: string | null;
  /** Of the TLS certificate; null: no TLS */
  fingerprint: string | null;
  /** Version of hangdbg */
  version: string;
  /** Version of the protocol between client and agent */
  protocol: number;
}
