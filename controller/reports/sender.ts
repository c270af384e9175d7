/** The sender of a report, as proved by the review of its token. */
export interface Sender {
  readonly nodeName: string;
  readonly nodeUid: string;
  readonly podUid: string;
  readonly credentialId: string;
}
