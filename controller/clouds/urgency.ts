/**
 * Which call goes first under a rate limit: `change` = changes and deletions of load balancers and routes, and the
 * reads right before them; `need` = reads that a decision about one object waits for; `refresh` = reads of everything,
 * which can wait.
 */
export type Urgency = 'change' | 'need' | 'refresh';
