/** Whom a token's review proved the sender to be. */
export interface Sender {
  readonly nodeName: string;
  readonly nodeUid: string;
  readonly podUid: string;
  readonly credentialId: string;
}
