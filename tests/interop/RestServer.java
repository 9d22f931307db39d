import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;

import org.apache.paimon.rest.RESTCatalogServer;
import org.apache.paimon.rest.auth.BearTokenAuthProvider;
import org.apache.paimon.rest.responses.ConfigResponse;

/**
 * Paimon's own REST server of its tests, over a folder. Arguments: the folder, the warehouse's name, the token that it
 * asks for. Prints its address; then each line "lose" lets it fail after the next commit that succeeds, and it ends with
 * its input.
 */
public class RestServer {
    public static void main(String[] words) throws Exception {
        Map<String, String> defaults = new HashMap<>();
        defaults.put("prefix", "paimon");
        defaults.put("table-default.write-buffer-size", "8 mb");
        Map<String, String> overrides = new HashMap<>();
        overrides.put("header.x-given", "by the server");
        RESTCatalogServer server =
                new RESTCatalogServer(
                        words[0],
                        new BearTokenAuthProvider(words[2]),
                        new ConfigResponse(defaults, overrides),
                        words[1]);
        server.start();
        System.out.println(server.getUrl());
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        while (requests.readLine() != null) {
            RESTCatalogServer.commitSuccessThrowException = true;
            System.out.println("ok");
        }
        server.shutdown();
        System.exit(0);
    }
}
