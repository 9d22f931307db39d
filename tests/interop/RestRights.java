import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.Transform;
import org.apache.paimon.rest.RESTCatalogServer;
import org.apache.paimon.utils.JsonSerdeUtil;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Tells a server which rows and values of a table it shows: conditions, and "column=" before what masks it, as JSON. */
public class RestRights {
    public static void tell(RESTCatalogServer server, String[] words) throws Exception {
        List<Predicate> filters = new ArrayList<>();
        Map<String, Transform> masks = new HashMap<>();
        for (int i = 2; i < words.length; i++) {
            String[] pair = words[i].split("=", 2);
            if (words[i].startsWith("{")) {
                filters.add(JsonSerdeUtil.fromJson(words[i], Predicate.class));
            } else {
                masks.put(pair[0], JsonSerdeUtil.fromJson(pair[1], Transform.class));
            }
        }
        server.setRowFilterAuth(CatalogServer.name(words[1]), filters);
        server.setColumnMaskingAuth(CatalogServer.name(words[1]), masks);
    }
}
